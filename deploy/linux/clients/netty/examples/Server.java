import d2tcp.HttpDeadlines;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import java.net.InetSocketAddress;

/** Answers every request with so many bytes. Server ADDRESS PORT BYTES [plain] */
public final class Server {
  private Server() {}

  public static void main(String[] arguments) throws Exception {
    byte[] reply = new byte[Integer.parseInt(arguments[2])];
    boolean plain = arguments.length > 3;
    EventLoopGroup loop = new EpollEventLoopGroup(1);
    new ServerBootstrap()
        .group(loop)
        .channel(EpollServerSocketChannel.class)
        .childHandler(
            new ChannelInitializer<SocketChannel>() {
              @Override
              protected void initChannel(SocketChannel channel) {
                channel.pipeline().addLast(new HttpServerCodec());
                if (!plain) {
                  channel.pipeline().addLast(new HttpDeadlines());
                }
                channel.pipeline().addLast(new HttpObjectAggregator(1 << 16), new Answers(reply));
              }
            })
        .bind(new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1])))
        .sync()
        .channel()
        .closeFuture()
        .sync();
  }

  private static final class Answers extends SimpleChannelInboundHandler<FullHttpRequest> {
    private final byte[] reply;

    Answers(byte[] reply) {
      this.reply = reply;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
      DefaultFullHttpResponse response =
          new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.wrappedBuffer(reply));
      response.headers().set(HttpHeaderNames.CONTENT_LENGTH, reply.length);
      context.writeAndFlush(response);
    }
  }
}
