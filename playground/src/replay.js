// The packets through the port with the longest queue, from the engine's log, at any speed.
"use strict";

const replay = (() => {
  const PACKET = 1500;

  /** Returns the events of one port: its packets with the times at which they arrive, begin to be sent, and
   * are delivered. */
  function story(run) {
    const { packets: log, links, wires } = run;
    const name = charts.fullest_port(run);
    let port = links.from.findIndex((from, row) => `${from} -> ${links.to[row]}` === name);
    if (port < 0) port = log.next.find((next) => next !== null) ?? -1;
    if (port < 0) return null;
    const begins = (row) => log.at_us[row] - wires[log.link[row]].delay_us - transmission(row, log.link[row]);
    const transmission = (row, link) => (log.size[row] * 8e6) / wires[link].rate_bps;
    const key = (row) => `${log.connection[row]}/${log.seq[row]}/${log.ack[row]}`;
    const open = new Map();
    const come = [];
    const acks = [];
    log.at_us.forEach((at, row) => {
      if (log.lost[row]) {
        if (log.link[row] !== port) return;
        const packet = open.get(key(row))?.pop();
        if (packet) packet.lost = at;
      } else if (log.next[row] === port) {
        const packet = { row, from: links.from[log.link[row]], sent: begins(row), came: at, leaves: Infinity, arrives: Infinity, again: log.again[row], ack: log.ack[row], size: log.size[row] };
        come.push(packet);
        if (!open.has(key(row))) open.set(key(row), []);
        open.get(key(row)).push(packet);
      } else if (log.link[row] === port) {
        const packet = open.get(key(row))?.shift();
        if (packet) Object.assign(packet, { leaves: begins(row), arrives: at, marked: log.marked[row] });
      } else if (log.ack[row] && log.next[row] === null && links.from[log.link[row]] === links.from[port]) {
        acks.push({ to: links.to[log.link[row]], sent: begins(row), came: at, echo: log.echo[row] });
      }
    });
    const lanes = [...new Set(come.map((packet) => packet.from))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    const times = come.flatMap((packet) => [packet.came, packet.leaves, packet.arrives]).filter(Number.isFinite);
    return {
      come,
      acks,
      lanes,
      times: [...new Set(times)].sort((a, b) => a - b),
      from: links.from[port],
      to: links.to[port],
      begin: run.moments.from_us,
      end: log.complete_until_us,
    };
  }

  /** Returns the state at a time. */
  function state(story, now) {
    const waiting = story.come.filter((packet) => packet.came <= now && packet.leaves > now && packet.lost === undefined);
    waiting.sort((a, b) => a.leaves - b.leaves || a.came - b.came);
    return {
      waiting,
      arrived: story.come.filter((packet) => packet.arrives <= now).length,
      marked: story.come.filter((packet) => packet.marked && packet.came <= now).length,
      lost: story.come.filter((packet) => packet.lost <= now).length,
    };
  }

  function tell(story, now, mark) {
    const { waiting, arrived, marked, lost } = state(story, now);
    const k = mark === undefined ? "" : ` (K = ${mark})`;
    return `${((now - story.begin) / 1000).toFixed(4)} ms: ${waiting.length} wait at ${story.from} for ${story.to}${k}; ${marked} marked, ${lost} dropped, ${arrived} have reached it`;
  }

  function paint(canvas, story, now, mark) {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue(name);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "12px system-ui, sans-serif";
    const left = 62;
    const right = width - 62;
    const [queue_from, queue_to] = [left + (right - left) * 0.42, left + (right - left) * 0.74];
    const middle = height / 2;
    const y_of = (lane) => 18 + ((height - 36) * (story.lanes.indexOf(lane) + 0.5)) / story.lanes.length;
    const box = Math.max(2, Math.min(9, (height - 36) / story.lanes.length - 1));
    pen.strokeStyle = colour("--line");
    pen.fillStyle = colour("--soft");
    const words = story.lanes.length <= Math.floor((height - 36) / 14);
    story.lanes.forEach((lane, index) => {
      pen.beginPath();
      pen.moveTo(left, y_of(lane));
      pen.lineTo(queue_from - 20, middle + (y_of(lane) - middle) * 0.25);
      pen.stroke();
      if (words || index === 0 || index === story.lanes.length - 1) pen.fillText(lane, 2, y_of(lane) + 4);
    });
    pen.beginPath();
    pen.moveTo(queue_to, middle);
    pen.lineTo(right, middle);
    pen.stroke();
    pen.fillText(story.from, queue_from, 12);
    pen.fillText(story.to, right + 4, middle + 4);
    pen.strokeRect(queue_from, 18, queue_to - queue_from, height - 36);
    const on_lane = (lane, share) => [left + (queue_from - 20 - left) * share, y_of(lane) + (middle + (y_of(lane) - middle) * 0.25 - y_of(lane)) * share];
    const square = (x, y, size, fill) => {
      pen.fillStyle = fill;
      pen.fillRect(x - size / 2, y - size / 2, size, size);
    };
    for (const ack of story.acks) {
      if (ack.sent > now || ack.came < now || !story.lanes.includes(ack.to)) continue;
      const [x, y] = on_lane(ack.to, 1 - (now - ack.sent) / (ack.came - ack.sent));
      square(x, y + 3, 3, ack.echo ? colour("--marked") : colour("--soft"));
    }
    for (const packet of story.come) {
      if (packet.sent > now || (packet.arrives < now && packet.lost === undefined)) continue;
      const plain = packet.again ? colour("--again") : colour("--packet");
      if (now < packet.came) {
        square(...on_lane(packet.from, (now - packet.sent) / (packet.came - packet.sent)), box, plain);
      } else if (packet.lost !== undefined) {
        // The fall lasts as long as thirty such packets take on a wire of one gigabit.
        const fallen = (now - packet.lost) / 360;
        if (fallen < 1) square(queue_from - 14, middle + 10 + fallen * (height / 2 - 20), box, colour("--late"));
      } else if (now >= packet.leaves) {
        const share = (now - packet.leaves) / (packet.arrives - packet.leaves);
        square(queue_to + (right - queue_to) * share, middle, box + 1, packet.marked ? colour("--marked") : plain);
      }
    }
    const { waiting } = state(story, now);
    const cell = 9;
    const rows = Math.max(1, Math.floor((height - 40) / cell));
    const columns = Math.max(1, Math.floor((queue_to - queue_from - 4) / cell));
    // The head of the queue is at the bottom right. The queue grows upwards, then to the left.
    waiting.slice(0, rows * columns).forEach((packet, place) => {
      const fill = packet.marked ? colour("--marked") : packet.again ? colour("--again") : colour("--packet");
      square(queue_to - 6 - Math.floor(place / rows) * cell, height - 24 - (place % rows) * cell, cell - 2, fill);
    });
    if (waiting.length > rows * columns) {
      pen.fillStyle = colour("--ink");
      pen.fillText(`+ ${waiting.length - rows * columns}`, queue_from + 4, 30);
    }
    if (mark !== undefined && mark < rows) {
      pen.strokeStyle = colour("--ink");
      pen.setLineDash([4, 3]);
      pen.beginPath();
      pen.moveTo(queue_from, height - 24 - (mark - 0.5) * cell);
      pen.lineTo(queue_to, height - 24 - (mark - 0.5) * cell);
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  /** Connects the controls of the replay; `show(run, mark)` replaces the run. */
  function create(root) {
    const part = (name) => root.querySelector(`[data-part=${name}]`);
    const [canvas, time, speed, play, told, rate] = ["canvas", "time", "speed", "play", "told", "rate"].map(part);
    let current = null;
    let mark;
    let now = 0;
    let playing = false;
    let drawn = null;

    const draw = () => {
      if (!current) return;
      time.value = String(now - current.begin);
      time.setAttribute("aria-valuetext", `${((now - current.begin) / 1000).toFixed(3)} ms`);
      told.textContent = tell(current, now, mark);
      paint(canvas, current, now, mark);
    };
    const slower = () => 10 ** Number(speed.value);
    const set_playing = (on) => {
      playing = on;
      play.textContent = on ? "Pause" : "Play";
      drawn = null;
      if (on) requestAnimationFrame(frame);
    };
    const frame = (at) => {
      if (!playing || !current) return;
      if (drawn !== null) now += ((at - drawn) * 1000) / slower();
      drawn = at;
      if (now >= current.end) {
        now = current.end;
        set_playing(false);
      }
      draw();
      if (playing) requestAnimationFrame(frame);
    };
    const step = (forwards) => {
      if (!current) return;
      set_playing(false);
      const next = forwards ? current.times.find((at) => at > now) : current.times.findLast((at) => at < now);
      now = next ?? (forwards ? current.end : current.begin);
      draw();
    };
    play.addEventListener("click", () => {
      if (!playing && current && now >= current.end) now = current.begin;
      set_playing(!playing);
    });
    part("back").addEventListener("click", () => step(false));
    part("forth").addEventListener("click", () => step(true));
    time.addEventListener("input", () => {
      set_playing(false);
      now = current.begin + Number(time.value);
      draw();
    });
    const say_rate = () => {
      const times = slower();
      const takes = times / 1000;
      const shown = takes >= 1 ? `${charts.number(takes)} s` : `${charts.number(times)} ms`;
      rate.textContent = `${charts.number(times, 2)} × slower than real time: 1 ms takes ${shown}`;
      speed.setAttribute("aria-valuetext", rate.textContent);
    };
    speed.addEventListener("input", say_rate);
    say_rate();
    new ResizeObserver(draw).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

    return {
      show(run, threshold) {
        set_playing(false);
        current = run ? story(run) : null;
        mark = threshold;
        root.hidden = !current;
        if (!current) return;
        now = current.begin;
        time.max = String(current.end - current.begin);
        time.step = String(Math.max(0.001, (current.end - current.begin) / 5000));
        draw();
      },
    };
  }

  return { create, story, state };
})();
