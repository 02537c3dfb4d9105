;; Keeps a few segments of each connection in the queue, judged by round-trip times alone (as TCP Vegas does).
;; duetime runs this text as it is. The numbers of a call are 64-bit floats from address 0 on, 8 bytes each:
;;    0 cwnd      8 ssthresh   16 rate      24 floor       32 limit     40 now      48 bytes      56 segments
;;   64 marked   72 may_grow   80 may_cut   88 una         96 next     104 mss     112 srtt      120 min_rtt
;;  128 remaining  136 size   144 left     152 flight     160 timeout  168 loss_window  176 identity  184 link_rate
;;  192 later, then for each message behind the present one its remaining and left.
(module
  (@custom "duetime"
    "abi = 1\n"
    "help = 'keeps a few segments in the queue, judged by round-trip times'\n"
    "ecn = 'off'\n"
    "[[keys]]\n"
    "name = 'target'\n"
    "default = 3\n"
    "min = 0\n"
    "max = 1000\n"
    "help = 'segments of each connection in the queue'\n")
  (memory (export "memory") 1)
  (func (export "event") (result i32) (i32.const 0))
  (func (export "keys") (result i32) (i32.const 16384))
  ;; The state of one connection, zeros at first: the end of its present round trip.
  (func (export "state") (result i32) (i32.const 16896))
  (func (export "state_size") (result i32) (i32.const 8))
  (func (export "on_ack") (local $queued f64) (local $target f64) (local $cwnd f64)
    ;; Once in a round trip: when all is acknowledged that was sent when the last one began.
    (if (f64.eq (f64.load (i32.const 72)) (f64.const 0)) (then (return)))
    (if (f64.eq (f64.load (i32.const 112)) (f64.const 0)) (then (return)))
    (if (f64.le (f64.load (i32.const 88)) (f64.load (i32.const 16896))) (then (return)))
    (f64.store (i32.const 16896) (f64.load (i32.const 96)))
    (local.set $target (f64.load (i32.const 16384)))
    (local.set $cwnd (f64.load (i32.const 0)))
    (local.set $queued (f64.div
      (f64.mul (local.get $cwnd) (f64.sub (f64.load (i32.const 112)) (f64.load (i32.const 120))))
      (f64.load (i32.const 112))))
    (if (f64.gt (local.get $queued) (local.get $target))
      (then
        (f64.store (i32.const 0) (f64.max (f64.load (i32.const 24))
          (f64.sub (local.get $cwnd) (f64.div (f64.sub (local.get $queued) (local.get $target)) (f64.const 2)))))
        (f64.store (i32.const 8) (f64.load (i32.const 0))))
      (else
        (f64.store (i32.const 0) (if (result f64) (f64.lt (local.get $cwnd) (f64.load (i32.const 8)))
          (then (f64.mul (local.get $cwnd) (f64.const 2)))
          (else (f64.add (local.get $cwnd) (f64.const 1)))))))))
