internal import Glibc
internal import LinuxIO
internal import WireGuardControl

/// The configuration socket of an interface, for wg(8) and the agent. Each connection handles one request after another.
final class UAPIServer {
  /// Answers a call, by one call of the last argument. The second argument is the bytes that contain it.
  typealias Handler = (UAPICall, [UInt8], (consuming UAPIReplyText) -> Void) -> Void

  /// The maximum size of a request in bytes: a device of 10,000 peers takes a few MiB.
  private static let largest = 32 << 20
  private static let mostConnections = 64

  private let loop: DescriptorLoop
  private let listener: FileDescriptor
  private let handler: Handler
  private var source: DescriptorLoop.Source?
  private var connections: [Int32: Connection] = [:]

  private final class Connection {
    let descriptor: FileDescriptor
    var source: DescriptorLoop.Source?
    var received: [UInt8] = []
    var unsent: [UInt8] = []
    var sent = 0

    init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    deinit {
      received.wipe()
      unsent.wipe()
    }
  }

  /// `listener` is already listening and non-blocking.
  init(_ listener: FileDescriptor, on loop: DescriptorLoop, handler: @escaping Handler) throws(SystemError) {
    self.listener = listener
    self.loop = loop
    self.handler = handler
    source = try loop.whenReadable(listener.number) { [weak self] in self?.accept() }
  }

  private func accept() {
    guard let descriptor = try? listener.accept(), connections.count < Self.mostConnections else { return }
    let connection = Connection(descriptor)
    connections[descriptor.number] = connection
    listen(connection)
  }

  private func listen(_ connection: Connection) {
    connection.source?.cancel()
    connection.source = try? loop.whenReadable(connection.descriptor.number) { [weak self, weak connection] in
      if let connection { self?.read(connection) }
    }
    if connection.source == nil { close(connection) }
  }

  private func close(_ connection: Connection) {
    connection.source?.cancel()
    connections[connection.descriptor.number] = nil
  }

  private func read(_ connection: Connection) {
    do throws(SystemError) {
      guard var part = try connection.descriptor.read() else { return }
      if part.isEmpty || connection.received.count + part.count > Self.largest { return close(connection) }
      connection.received += part
      part.wipe()
    } catch {
      return close(connection)
    }
    answer(connection)
  }

  private func answer(_ connection: Connection) {
    while connection.unsent.isEmpty, let end = UAPICall.end(in: connection.received) {
      var request = Array(connection.received[..<end])
      connection.received.wipe(first: end)
      connection.received.removeFirst(end)
      do throws(UAPICall.Failure) {
        handler(try UAPICall(request), request) { send($0, on: connection) }
      } catch {
        send(UAPIReplyText(code: error == .unknown ? EPROTONOSUPPORT : EINVAL), on: connection)
      }
      request.wipe()
    }
  }

  private func send(_ reply: consuming UAPIReplyText, on connection: Connection) {
    connection.unsent = reply.take()
    connection.sent = 0
    write(connection)
  }

  private func write(_ connection: Connection) {
    do throws(SystemError) {
      while connection.sent < connection.unsent.count {
        let count = try connection.descriptor.write(connection.unsent[connection.sent...])
        if count == 0 {
          connection.source?.cancel()
          connection.source = try loop.whenWritable(connection.descriptor.number) { [weak self, weak connection] in
            guard let connection else { return }
            self?.write(connection)
            // Requests that arrived meanwhile are already in the buffer; there may be no further event for them.
            self?.answer(connection)
          }
          return
        }
        connection.sent += count
      }
    } catch {
      return close(connection)
    }
    connection.unsent.wipe()
    connection.unsent = []
    listen(connection)
  }
}
