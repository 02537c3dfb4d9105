package d2tcp;

import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.unix.RawUnixChannelOption;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;

/**
 * Deadlines for messages of channels on Netty's epoll transport. Nothing here needs a privilege; where D2TCP is not
 * attached nothing happens. Numbers and structures are those of {@code linux/include/d2tcp.h}.
 */
public final class D2tcp {
  /**
   * What {@link #timeToSend} takes off a caller's time left. The caller counts until it has decoded the last byte, the
   * kernel until it knows that the last byte has arrived, and D2TCP arrives at a deadline rather than before it.
   */
  public static final Duration MARGIN = Duration.ofMillis(80);

  /** But never more than one part in so many of the time left, so that short deadlines keep most of themselves. */
  public static final int MARGIN_PARTS = 4;

  private static final int LEVEL = 0xd27c;
  private static final RawUnixChannelOption MESSAGE = new RawUnixChannelOption("D2TCP_MESSAGE", LEVEL, 1, 32);
  private static final RawUnixChannelOption CANCEL = new RawUnixChannelOption("D2TCP_CANCEL", LEVEL, 3, 8);

  private D2tcp() {}

  /**
   * Says that the next {@code bytes} bytes written to the channel should be acknowledged within a time; 0: all that has
   * been written so far. The tag is the program's own name for the message. Gives whether the kernel knows now.
   */
  public static boolean announce(Channel channel, long bytes, Duration within, long tag) {
    ByteBuffer value = ByteBuffer.allocate(32).order(ByteOrder.nativeOrder());
    value.putLong(bytes).putLong(within.toNanos()).putLong(tag).putLong(0).flip();
    return set(channel, MESSAGE, value);
  }

  /** Forgets the messages with this tag, all for 0: what they have not written will never come. */
  public static boolean cancel(Channel channel, long tag) {
    ByteBuffer value = ByteBuffer.allocate(8).order(ByteOrder.nativeOrder());
    value.putLong(tag).flip();
    return set(channel, CANCEL, value);
  }

  /** Gives what the kernel is told of a caller's time left. */
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
