internal import GatewayCore
internal import GatewayStore
internal import Glibc
package import LinuxIO
internal import ProcessConfinement

/// The work of `roamward-gateway-store`: a gateway's connection to its store on a server. It has no privileges. It connects once, then
/// confines itself, and ends with its connection.
package enum StoreWork {
  /// A server may know its user by `peer` authentication.
  private static let worker = ConfinedWorker(user: "roamward-gateway", descriptors: 64, memory: 512 << 20, filter: StoreFilter.filter)
  /// Of a part of an answer, in bytes.
  private static let part = 32_768

  /// Takes the gateway's channel, connects, confines itself, and works until the channel closes.
  package static func run() throws(SystemError) {
    try ConfinedWorker.onChannel(hello: nil) { channel throws(SystemError) in
      guard let engine = try worker.confine(withParent: true, { () throws(SystemError) in try connect(channel) }) else { return }
      try send(.done, on: channel)
      try serve(channel, engine)
    }
  }

  /// `nil`: the gateway has told no server in time, or knows already why there is no connection.
  private static func connect(_ channel: MessageChannel) throws(SystemError) -> PostgreSQLEngine? {
    guard channel.wait(atMost: .seconds(60)), case .message(let bytes, _) = try channel.receive(),
      case .connect(let target)? = try? StoreRequest(bytes)
    else { return nil }
    do {
      return try PostgreSQLEngine(target, listening: true)
    } catch {
      try send(.failed(error), on: channel)
      return nil
    }
  }

  /// Confines itself as for the gateway, and ends: tests whether that is possible here.
  package static func check() throws(SystemError) { try worker.confine(withParent: false) }

  private static func serve(_ channel: MessageChannel, _ engine: PostgreSQLEngine) throws(SystemError) {
    while true {
      var entries = [
        pollfd(fd: channel.descriptor.number, events: Int16(POLLIN), revents: 0),
        pollfd(fd: engine.socket, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&entries, 2, -1) >= 0 || errno == EINTR else { throw .last("wait") }
      if entries[0].revents != 0 {
        guard case .message(let bytes, _) = try channel.receive(), let request = try? StoreRequest(bytes) else { return }
        try answer(request, channel, engine)
      }
      // A notification may also have come with an answer, and then nothing is left to read.
      if engine.takeNews() { try send(.changed, on: channel) }
      guard engine.isConnected else { return }
    }
  }

  private static func answer(_ request: StoreRequest, _ channel: MessageChannel, _ engine: PostgreSQLEngine) throws(SystemError) {
    var rows: [[SQLValue]] = []
    do throws(StoreError) {
      switch request {
      case .connect: throw StoreError("store: there is a connection")
      case .run(let statement, let values): rows = try engine.run(statement, values)
      case .beginWriting: try engine.beginWriting()
      case .beginReading: try engine.beginReading()
      case .commit: try engine.commit()
      case .rollBack: engine.rollBack()
      case .announce: try engine.announce()
      }
    } catch { return try send(.failed(error), on: channel) }
    for part in parts(of: rows) { try send(.rows(part), on: channel) }
    try send(.done, on: channel)
  }

  private static func parts(of rows: [[SQLValue]]) -> [[[SQLValue]]] {
    var (parts, last, length) = ([[[SQLValue]]](), [[SQLValue]](), 0)
    for row in rows {
      let more = StoreReply.length(of: row)
      if length + more > part, !last.isEmpty {
        parts.append(last)
        (last, length) = ([], 0)
      }
      last.append(row)
      length += more
    }
    return last.isEmpty ? parts : parts + [last]
  }

  private static func send(_ reply: StoreReply, on channel: MessageChannel) throws(SystemError) {
    do throws(SystemError) {
      try channel.send(reply.bytes)
    } catch {
      guard error.code == EMSGSIZE else { throw error }
      try channel.send(StoreReply.failed(StoreError("store: a row is too long")).bytes)
    }
  }
}
