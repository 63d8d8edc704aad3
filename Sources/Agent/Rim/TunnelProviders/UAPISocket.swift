internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import Wire
internal import WireGuardControl

/// The socket by which a userspace WireGuard engine is configured: one for each link, named after it.
struct UAPISocket {
  let path: String

  /// `nil` if this is no valid link name: then there is no such socket either.
  init?(link: String, in directory: String) {
    guard let name = InterfaceName(link) else { return nil }
    path = "\(directory)/\(name).sock"
  }

  /// A connection, or `nil` if no engine listens.
  func connect() throws(ProviderError) -> FileDescriptor? {
    do throws(SystemError) {
      return try .connect(to: path, nonBlocking: true)
    } catch {
      if [ENOENT, ECONNREFUSED].contains(error.code) { return nil }
      throw ProviderError(error.description)
    }
  }

  /// Removes the file; an engine that listens there ends because of that.
  func remove() throws(ProviderError) {
    do throws(SystemError) { try TextFile.remove(path) } catch { throw ProviderError(error.description) }
  }

  /// Sends a request and waits for the answer: usually below a millisecond, at most a second and 16 MiB. `nil` if no engine listens.
  ///
  /// Before it answers, the engine may itself request sockets: `sockets` is served meanwhile.
  func ask(_ request: String, serving sockets: InterfaceProcess? = nil) throws(ProviderError) -> UAPIReply? {
    guard let connection = try send(request) else { return nil }
    return try answer(on: connection, serving: sockets)
  }

  /// The first half of `ask`: returns the connection on which the answer will arrive. `kept`: one whose last answer has been read.
  func send(_ request: String, on kept: FileDescriptor? = nil) throws(ProviderError) -> FileDescriptor? {
    guard let connection = if let kept { kept } else { try connect() } else { return nil }
    let deadline = Moment.now + .seconds(1)
    do throws(SystemError) {
      var rest = Array(request.utf8)[...]
      while !rest.isEmpty {
        try connection.wait(for: POLLOUT, until: deadline)
        rest = rest.dropFirst(try connection.write(rest))
      }
      return connection
    } catch {
      throw noAnswer(error)
    }
  }

  /// The second half.
  func answer(on connection: FileDescriptor, serving sockets: InterfaceProcess? = nil) throws(ProviderError) -> UAPIReply {
    let deadline = Moment.now + .seconds(1)
    do throws(SystemError) {
      var answer: [UInt8] = []
      while !answer.suffix(2).elementsEqual([10, 10]) {
        try connection.wait(for: POLLIN, until: deadline, serving: sockets)
        guard let part = try connection.read() else { continue }
        answer += part
        if part.isEmpty || answer.count > 16 << 20 { break }
      }
      return try reply(answer)
    } catch {
      throw noAnswer(error)
    }
  }

  private func noAnswer(_ error: SystemError) -> ProviderError {
    ProviderError("the engine at \(path) does not answer: \(error.reason)")
  }

  private func reply(_ answer: [UInt8]) throws(SystemError) -> UAPIReply {
    guard let reply = try? UAPIReply(answer) else { throw SystemError(code: EPROTO, operation: "read") }
    return reply
  }
}

extension FileDescriptor {
  /// The engine usually answers before a processor would have fallen asleep and woken up.
  private static let wakefulness = Duration.microseconds(300)

  /// Whether there is something to read, or the other side has closed.
  var isReadable: Bool {
    var watched = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, 0) != 0
  }

  /// Returns when one of the `POLL*` bits is set or the other side has closed; throws ETIMEDOUT at the deadline.
  fileprivate func wait(for events: Int32, until deadline: Moment, serving sockets: InterfaceProcess? = nil) throws(SystemError) {
    var sockets = sockets
    let sleepsFrom = Moment.now + Self.wakefulness
    while true {
      let now = Moment.now
      let left = (deadline - now).components
      let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
      guard milliseconds >= 0 else { throw SystemError(code: ETIMEDOUT, operation: "wait") }
      // A negative number is ignored.
      var watched = [
        pollfd(fd: number, events: Int16(events), revents: 0),
        pollfd(fd: sockets?.socketsDescriptor ?? -1, events: Int16(POLLIN), revents: 0),
      ]
      let isAwake = now < sleepsFrom
      let count = poll(&watched, 2, isAwake ? 0 : Int32(clamping: milliseconds + 1))
      if watched[0].revents != 0 { return }
      if watched[1].revents != 0, sockets?.serveSockets() == false { sockets = nil }
      if count < 0, errno != EINTR { throw .last("poll") }
      if isAwake { sched_yield() }
    }
  }
}
