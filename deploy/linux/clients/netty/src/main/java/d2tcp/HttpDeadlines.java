package d2tcp;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Announces the deadlines of responses, behind the {@code HttpServerCodec} of each channel.
 *
 * <p>A request with {@code X-Deadline-Ms} gives its response so many milliseconds from the reading of its head, less a
 * margin. The response is announced when its head is written, with the length in Content-Length. The head is sent in
 * addition, so that an announcement ends a little before its last byte, rather than never. Responses of unknown length
 * are not announced. If the channel is closed before a response is complete, its announcement is cancelled.
 */
public final class HttpDeadlines extends ChannelDuplexHandler {
  /** The name of the header, whose value is in milliseconds. */
  public static final String HEADER = "X-Deadline-Ms";

  private static final long LONGEST_MS = Duration.ofDays(1).toMillis();

  /** The due time of each pending request, by {@link System#nanoTime}; null without a deadline. */
  private final Queue<Long[]> due = new ArrayDeque<>();

  private long tag;
  private boolean announced;

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) throws Exception {
    if (message instanceof HttpRequest) {
      due.add(new Long[] {deadline(((HttpRequest) message).headers().get(HEADER))});
    }
    super.channelRead(context, message);
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) throws Exception {
    if (message instanceof HttpResponse && ((HttpResponse) message).status().code() >= 200) {
      begin(context, (HttpResponse) message);
    }
    if (message instanceof LastHttpContent) {
      announced = false;
    }
    super.write(context, message, promise);
  }

  @Override
  public void close(ChannelHandlerContext context, ChannelPromise promise) throws Exception {
    if (announced) {
      D2tcp.cancel(context.channel(), tag);
    }
    super.close(context, promise);
  }

  private void begin(ChannelHandlerContext context, HttpResponse response) {
    Long[] request = due.poll();
    long length = length(response);
    if (request == null || request[0] == null || length <= 0) {
      return;
    }
    Duration left = Duration.ofNanos(request[0] - System.nanoTime());
    if (!left.isNegative() && !left.isZero()) {
      announced = D2tcp.announce(context.channel(), length, D2tcp.timeToSend(left), ++tag);
    }
  }

  /** Returns Content-Length; 0 if it is missing or not a number, which is left to the program. */
  private static long length(HttpResponse response) {
    try {
      return HttpUtil.getContentLength(response, 0L);
    } catch (NumberFormatException wrong) {
      return 0L;
    }
  }

  private static Long deadline(String value) {
    try {
      long ms = value == null ? 0 : Long.parseLong(value.trim());
      return ms > 0 && ms <= LONGEST_MS ? Long.valueOf(System.nanoTime() + Duration.ofMillis(ms).toNanos()) : null;
    } catch (NumberFormatException wrong) {
      return null;
    }
  }
}
