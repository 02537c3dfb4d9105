package d2tcp;

import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.unix.RawUnixChannelOption;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;

/**
 * Deadlines for messages of channels on Netty's epoll transport. No function here needs a privilege, and none has an
 * effect where D2TCP is not attached. Numbers and structures are as in {@code deploy/linux/include/d2tcp.h}.
 */
public final class D2tcp {
  /**
   * The time that {@link #timeToSend} subtracts from a caller's time left. The caller's time ends when it has decoded
   * the last byte, and the kernel's when it knows that the last byte has been received. Also, D2TCP completes a message
   * at its deadline rather than before it.
   */
  public static final Duration MARGIN = Duration.ofMillis(80);

  /** The margin is at most one part in so many of the time left, so that short deadlines stay useful. */
  public static final int MARGIN_PARTS = 4;

  private static final int LEVEL = 0xd27c;
  private static final RawUnixChannelOption MESSAGE = new RawUnixChannelOption("D2TCP_MESSAGE", LEVEL, 1, 32);
  private static final RawUnixChannelOption CANCEL = new RawUnixChannelOption("D2TCP_CANCEL", LEVEL, 3, 8);

  private D2tcp() {}

  /**
   * Announces that the next {@code bytes} bytes written to the channel should be acknowledged within a time; 0 for all
   * bytes written so far. The tag is the program's own name for the message. Returns true if the kernel accepts it.
   */
  public static boolean announce(Channel channel, long bytes, Duration within, long tag) {
    ByteBuffer value = ByteBuffer.allocate(32).order(ByteOrder.nativeOrder());
    value.putLong(bytes).putLong(within.toNanos()).putLong(tag).putLong(0).flip();
    return set(channel, MESSAGE, value);
  }

  /** Cancels the messages with this tag, or all for 0: their unwritten bytes will never be written. */
  public static boolean cancel(Channel channel, long tag) {
    ByteBuffer value = ByteBuffer.allocate(8).order(ByteOrder.nativeOrder());
    value.putLong(tag).flip();
    return set(channel, CANCEL, value);
  }

  /** Returns the time to announce for a caller's time left. */
  public static Duration timeToSend(Duration left) {
    Duration share = left.dividedBy(MARGIN_PARTS);
    return left.minus(share.compareTo(MARGIN) < 0 ? share : MARGIN);
  }

  private static boolean set(Channel channel, RawUnixChannelOption option, ByteBuffer value) {
    try {
      return channel.config().setOption(option, value);
    } catch (ChannelException notAttached) {
      return false;
    }
  }
}
