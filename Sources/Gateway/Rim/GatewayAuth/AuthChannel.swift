internal import GatewayLogin
internal import Glibc
internal import LinuxIO
internal import LoginProtocol

/// The channel to `roamward-gateway`, with the questions that it has not answered yet.
final class AuthChannel {
  private let channel: MessageChannel
  private let loop: DescriptorLoop
  private var asked = AskedQuestions()
  private var source: DescriptorLoop.Source?

  /// Until what `roamward-gateway` says first.
  private static let patience = Duration.seconds(10)
  /// Replies that are read between two looks at all else.
  private static let repliesAtOnce = 64

  init(_ channel: MessageChannel, on loop: DescriptorLoop) { (self.channel, self.loop) = (channel, loop) }

  /// Waits for the first message: the identity of logins, the port of relays, and a listening socket.
  func begin() throws(SystemError) -> (identity: String, port: UInt16?, listener: FileDescriptor) {
    guard channel.wait(atMost: Self.patience), case .message(let bytes, let passed?) = try channel.receive(takesDescriptors: true),
      case .start(let identity, let port) = try? AuthReply(LoginFrame(body: bytes.dropFirst(2)))
    else { throw SystemError(code: EPROTO, operation: "begin: the gateway is of another version") }
    return (identity, port, passed)
  }

  /// Says that the work has begun, and takes replies. The loop ends with the channel.
  func serve(_ take: @escaping (AuthReply, FileDescriptor?) -> Void) throws(SystemError) {
    source = try loop.whenReadable(channel.descriptor.number) { [weak self] in self?.receive(take) }
    try channel.send(AuthRequest.hello(trouble: nil).frame.bytes)
  }

  /// Asks the gateway. Returns the answer if it cannot be asked now.
  func ask(_ request: AuthRequest) -> LoginAnswer? {
    tellEnds()
    guard asked.begin(request) else { return .busy }
    if send(request) { return nil }
    // A gateway that takes nothing has stopped, or waits; the login is answered as if its store were away.
    if let number = request.number { asked.answered(number) }
    return .unavailable
  }

  /// The conversation has ended: the gateway keeps what it knows of it until then.
  func end(_ number: UInt32) {
    asked.end(number)
    tellEnds()
  }

  private func tellEnds() {
    while let number = asked.nextEnd, send(.ended(number: number)) { asked.endIsTold() }
  }

  /// `false`: the gateway has left too much unread.
  private func send(_ request: AuthRequest) -> Bool {
    do throws(SystemError) { try channel.send(request.frame.bytes) } catch {
      if error.code != EAGAIN { loop.stop() }
      return false
    }
    return true
  }

  private func receive(_ take: (AuthReply, FileDescriptor?) -> Void) {
    for _ in 0..<Self.repliesAtOnce {
      do {
        switch try channel.receive(takesDescriptors: true) {
        case .nothing: return
        case .ended: return loop.stop()
        case .message(let bytes, let passed):
          let reply = try AuthReply(LoginFrame(body: bytes.dropFirst(2)))
          if let number = reply.number { asked.answered(number) }
          tellEnds()
          take(reply, passed)
        }
      } catch {
        // A gateway of another version: the hello has reported it.
        return loop.stop()
      }
    }
  }
}
