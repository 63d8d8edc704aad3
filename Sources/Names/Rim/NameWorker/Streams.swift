internal import LinuxIO
internal import NameServer
internal import NetworkTypes

/// Connections of clients: at most 64, and 16 of one address outside of this host. A new one replaces the oldest (RFC 7766 section 6.2.3).
struct ClientStreams {
  private static let most = 64
  private static let mostOfAddress = 16
  /// Questions of a connection that are answered at a time; the others wait in its socket.
  private static let mostUnanswered = 32

  private var streams: [UInt32: (stream: MessageStream, client: Client)] = [:]
  private var last: UInt32 = 0

  var isEmpty: Bool { streams.isEmpty }

  mutating func add(_ file: FileDescriptor, _ client: Client, on loop: DescriptorLoop, wake: @escaping (UInt32) -> Void) {
    let own = streams.filter { !client.isLocal && $0.value.client.address == client.address }
    if own.count >= Self.mostOfAddress, let oldest = own.keys.min() { streams[oldest] = nil }
    if streams.count >= Self.most, let oldest = streams.keys.min() { streams[oldest] = nil }
    last &+= 1
    let number = last
    var client = client
    client.transport = .stream(number)
    guard let stream = try? MessageStream(file, on: loop, wake: { wake(number) }) else { return }
    streams[number] = (stream, client)
  }

  /// Passes messages that have arrived. Returns their client.
  mutating func exchange(_ number: UInt32, _ take: ([UInt8]) -> Void) -> Client? {
    guard let (stream, client) = streams[number] else { return nil }
    if !stream.exchange(atMost: Self.mostUnanswered, take) { streams[number] = nil }
    return client
  }

  /// Returns whether `exchange` is to be called, because questions waited for an answer.
  mutating func send(_ message: ArraySlice<UInt8>, on number: UInt32) -> Bool {
    guard let stream = streams[number]?.stream else { return false }
    guard stream.send(message) else {
      streams[number] = nil
      return false
    }
    return stream.canGoOn
  }

  mutating func removeStuck(at now: Moment) { streams = streams.filter { !$0.value.stream.isStuck(at: now) } }
}

/// Connections to name servers, one for each question.
struct ServerStreams {
  enum Event {
    case nothing
    case message([UInt8])
    case failed
  }

  /// Questions that wait for a connection.
  private var waiting: [UInt32: [UInt8]] = [:]
  private var streams: [UInt32: MessageStream] = [:]

  mutating func expect(_ number: UInt32, _ message: [UInt8]) { waiting[number] = message }

  mutating func close(_ number: UInt32) {
    waiting[number] = nil
    streams[number] = nil
  }

  /// Uses a socket. Returns whether that is possible; a question that is not wanted any more needs none.
  mutating func use(_ file: FileDescriptor?, for number: UInt32, on loop: DescriptorLoop, wake: @escaping () -> Void) -> Bool {
    guard let message = waiting.removeValue(forKey: number) else { return true }
    guard let file, let stream = try? MessageStream(file, on: loop, wake: wake), stream.send(message[...]) else { return false }
    streams[number] = stream
    return true
  }

  mutating func exchange(_ number: UInt32) -> Event {
    guard let stream = streams[number] else { return .nothing }
    var answer: [UInt8]?
    let isOpen = stream.exchange(atMost: 1) { answer = answer ?? $0 }
    if answer == nil, isOpen { return .nothing }
    streams[number] = nil
    return answer.map { .message($0) } ?? .failed
  }
}
