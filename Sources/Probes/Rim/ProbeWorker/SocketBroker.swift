internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import ProbeProtocol

/// Gets sockets from the agent, connected or connecting: this process can neither create nor connect any.
///
/// libcurl and c-ares request a socket in a callback, so the broker blocks until the agent answers. Other messages are queued.
final class SocketBroker {
  /// The agent answers within microseconds if it is not busy; after this time it counts as lost.
  private static let patience = Duration.seconds(3)

  enum Trouble: Error {
    case refused(String)
    /// The channel has closed: the process has no more work.
    case ended
  }

  private let channel: MessageChannel
  private var count: UInt32 = 0
  /// Messages that arrived during the wait for a socket.
  private var kept: [AgentMessage] = []
  /// Called when a message was kept: it is already read, so nothing else would wake the loop.
  var onKept: () -> Void = {}

  init(_ channel: MessageChannel) { self.channel = channel }

  /// The next other message; `nil`: there is none now.
  func next() throws(Trouble) -> AgentMessage? { kept.isEmpty ? try receive()?.message : kept.removeFirst() }

  func socket(_ transport: SocketWish.Transport, to destination: Destination, for errand: UInt32) throws(Trouble) -> FileDescriptor {
    count &+= 1
    let wish = SocketWish(errand: errand, number: count, transport: transport, destination: destination)
    do throws(SystemError) { try channel.send(HelperMessage.wish(wish).bytes) } catch { throw .refused(error.description) }
    let deadline = Moment.now + Self.patience
    while true {
      let now = Moment.now
      guard now < deadline, channel.wait(atMost: deadline - now) else { throw .refused("the agent gives no socket") }
      guard let (message, passed) = try receive() else { continue }
      guard case .socket(wish: wish.number, let trouble) = message else {
        kept.append(message)
        onKept()
        continue
      }
      if let trouble { throw .refused(trouble) }
      guard let passed else { throw .refused("the agent's answer has no socket") }
      return passed
    }
  }

  private func receive() throws(Trouble) -> (message: AgentMessage, passed: FileDescriptor?)? {
    let received: MessageChannel.Received
    do throws(SystemError) { received = try channel.receive(takesDescriptors: true) } catch { throw .ended }
    switch received {
    case .nothing: return nil
    case .ended: throw .ended
    case .message(let bytes, let passed):
      // An agent of another version: the hello has reported it.
      guard let message = try? AgentMessage(bytes) else { throw .ended }
      return (message, passed)
    }
  }
}
