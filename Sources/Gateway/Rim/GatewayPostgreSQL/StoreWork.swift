internal import GatewayCore
internal import GatewayStore
internal import Glibc
package import LinuxIO
internal import ProcessConfinement

/// The work of `roamward-gateway-store`: a gateway's connection to its store on a server. It has no privileges. It connects once, then
/// confines itself, and ends with its connection.
package enum StoreWork {
  /// The system user that it switches to; a server may know it by `peer` authentication.
  package static let user = "roamward-gateway"
  /// Of a part of an answer, in bytes.
  private static let part = 32_768
  private static let memory = 512 << 20

  /// Takes the gateway's channel, connects, confines itself, and works until the channel closes.
  package static func run() throws(SystemError) {
    let file = FileDescriptor(owning: MessageChannel.inheritedNumber)
    _ = fcntl(file.number, F_SETFD, FD_CLOEXEC)
    let channel = MessageChannel(file)
    try Confinement.giveUpPrivileges(becoming: user)
    try Confinement.endWithParent()
    let filter = try StoreFilter.filter()
    guard channel.wait(atMost: .seconds(60)), case .message(let bytes, _) = try channel.receive(),
      case .connect(let target)? = try? StoreRequest(bytes)
    else { return }
    let engine: PostgreSQLEngine
    do {
      engine = try PostgreSQLEngine(target, listening: true)
    } catch { return try send(.failed(error), on: channel) }
    try Confinement.limit(descriptors: 64, memory: memory)
    let result = filter.load()
    guard result == 0 else { throw SystemError(code: result, operation: "confine system calls") }
    try send(.done, on: channel)
    try serve(channel, engine)
  }

  /// Confines itself as for the gateway, and ends: tests whether that is possible here.
  package static func check() throws(SystemError) {
    try Confinement.giveUpPrivileges(becoming: user)
    let result = try StoreFilter.filter().load()
    guard result == 0 else { throw SystemError(code: result, operation: "confine system calls") }
  }

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
