internal import CMicroHTTPD
internal import Glibc
internal import LinuxIO
internal import PageProtocol

/// HTTP/1.1 by libmicrohttpd, on connections that are added: heads in, answers out. Each connection has one request.
///
/// The library parses; its callbacks run within `run`, on the loop's thread.
final class HTTPServer {
  struct Answer {
    var status: UInt16
    var type: String
    var body: [UInt8]
  }

  /// Seconds without a byte.
  private static let silence: UInt32 = 5
  /// A longer head is refused by the library (431).
  private static let memory = 16_384

  private let handle: (UInt32, PageHead) -> Answer
  private let ended: (UInt32) -> Void
  private var server: OpaquePointer?
  /// The connection that is being added.
  private var adding: UInt32 = 0
  private(set) var sockets: [UInt32: Int32] = [:]

  /// `handle` answers a request of a connection by its number; `ended`: a connection is closed.
  init(connections: Int, handle: @escaping (UInt32, PageHead) -> Answer, ended: @escaping (UInt32) -> Void) throws(SystemError) {
    self.handle = handle
    self.ended = ended
    let context = Unmanaged.passUnretained(self).toOpaque()
    server = roamward_http_server(
      { context, connection, path, method, _, _, size, _ in
        guard let context, let connection, let path, let method else { return .NO }
        // The body is not read: the answer ends the connection.
        size?.pointee = 0
        return Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue().answer(connection, path, method)
      },
      { context, _, noted, event in
        guard let context, let noted else { return }
        Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue().record(noted, hasStarted: event == .CONNECTION_NOTIFY_STARTED)
      }, context, UInt32(connections), Self.silence, Self.memory)
    if server == nil { throw SystemError(code: ENOMEM, operation: "start libmicrohttpd") }
  }

  /// Readable when `run` has something to do.
  var descriptor: Int32 { server.map { roamward_http_descriptor($0) } ?? -1 }

  /// Takes a connected socket.
  func add(_ file: FileDescriptor, as number: UInt32) {
    // The library closes its own.
    let socket = fcntl(file.number, F_DUPFD_CLOEXEC, 0)
    guard let server, socket >= 0 else { return ended(number) }
    var address = sockaddr()
    address.sa_family = sa_family_t(AF_INET6)
    (adding, sockets[number]) = (number, socket)
    let result = MHD_add_connection(server, socket, &address, socklen_t(MemoryLayout<sockaddr>.size))
    if result != .YES, sockets.removeValue(forKey: number) != nil { ended(number) }
  }

  /// Does what is due. Returns after how long it is to be called at the latest; `nil`: when the descriptor is readable.
  func run() -> Duration? {
    guard let server else { return nil }
    var wait: UInt64 = 0
    for _ in 0..<16 {
      MHD_run(server)
      guard MHD_get_timeout(server, &wait) == .YES else { return nil }
      if wait > 0 { break }
    }
    return .milliseconds(Int64(clamping: wait))
  }

  /// Ends a connection that takes too long: the library then finds it closed.
  func cut(_ number: UInt32) {
    if let socket = sockets[number] { shutdown(socket, Int32(SHUT_RDWR)) }
  }

  private func record(_ noted: UnsafeMutablePointer<UnsafeMutableRawPointer?>, hasStarted: Bool) {
    if hasStarted {
      noted.pointee = UnsafeMutableRawPointer(bitPattern: UInt(adding))
    } else {
      let number = UInt32(UInt(bitPattern: noted.pointee))
      if sockets.removeValue(forKey: number) != nil { ended(number) }
    }
  }

  private func answer(_ connection: OpaquePointer, _ path: UnsafePointer<CChar>, _ method: UnsafePointer<CChar>) -> MHD_Result {
    let number = UInt32(UInt(bitPattern: roamward_http_context(connection)))
    let head = PageHead(
      String(cString: method), String(cString: path), arguments: Self.values(connection, .GET_ARGUMENT_KIND),
      fields: Self.values(connection, .HEADER_KIND))
    let answer = handle(number, head)
    let response = answer.body.withUnsafeBytes {
      MHD_create_response_from_buffer($0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
    }
    guard let response else { return .NO }
    defer { MHD_destroy_response(response) }
    for (name, value) in Self.fields + [("Content-Type", answer.type)] { MHD_add_response_header(response, name, value) }
    return MHD_queue_response(connection, UInt32(answer.status), response)
  }

  /// Nothing but the page's own files is loaded, no other site may show or read it, and no copy is kept: an answer may have a private key.
  private static let fields = [
    (
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"), ("Connection", "close"),
  ]

  private final class Values { var all: [PageHead.Field] = [] }

  private static func values(_ connection: OpaquePointer, _ kind: MHD_ValueKind) -> [PageHead.Field] {
    let values = Values()
    MHD_get_connection_values_n(
      connection, kind,
      { context, _, name, nameSize, value, valueSize in
        guard let context, let name else { return .NO }
        func text(_ start: UnsafePointer<CChar>?, _ size: Int) -> String {
          String(decoding: UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : size), as: UTF8.self)
        }
        Unmanaged<Values>.fromOpaque(context).takeUnretainedValue().all.append(.init(text(name, nameSize), text(value, valueSize)))
        return .YES
      }, Unmanaged.passUnretained(values).toOpaque())
    return withExtendedLifetime(values) { values.all }
  }
}
