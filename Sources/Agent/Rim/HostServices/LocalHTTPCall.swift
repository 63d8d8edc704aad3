internal import Glibc
internal import LinuxIO
internal import SystemdIO

/// One HTTP/1.0 request to a service at a unix socket: its status, and the lines of its body as they come. It ends with the value.
///
/// The service is trusted as its socket's folder is; lengths are bounded all the same.
final class LocalHTTPCall {
  enum News {
    case status(Int)
    /// A line of the body, without its end.
    case line([UInt8])
    /// It is over; the reason if it was not answered.
    case ended(reason: String?)
  }

  private static let longestHead = 16_384
  /// A longer line is left out.
  private static let longestLine = 1 << 20

  private let loop: EventLoop
  private let told: (News) -> Void
  private var connection: FileDescriptor?
  private var reading: EventSource?
  private var later: EventSource?
  private var answer = Answer.head([])

  private enum Answer {
    case head([UInt8])
    case body(LineBuffer)
  }

  /// `told` is called later, never during this call.
  init(
    _ method: String, _ target: String, host: String, body: String? = nil, at path: String, on loop: EventLoop,
    told: @escaping (News) -> Void
  ) {
    self.loop = loop
    self.told = told
    do throws(SystemError) {
      let connection = try FileDescriptor.connect(to: path, nonBlocking: true)
      let content = body.map { "Content-Type: application/json\r\nContent-Length: \($0.utf8.count)\r\n\r\n\($0)" } ?? "\r\n"
      let request = Array("\(method) \(target) HTTP/1.0\r\nHost: \(host)\r\n\(content)".utf8)
      guard try connection.write(request[...]) == request.count else { throw SystemError(code: EAGAIN, operation: "send to \(path)") }
      self.connection = connection
      reading = try loop.whenReadable(connection.number) { [weak self] in self?.receive() }
    } catch {
      later = try? loop.at(.now) { [weak self] in self?.finish("\(error)") }
    }
  }

  private func finish(_ reason: String?) {
    guard connection != nil || later != nil else { return }
    (connection, reading, later) = (nil, nil, nil)
    told(.ended(reason: reason))
  }

  private func receive() {
    let bytes: [UInt8]
    do throws(SystemError) {
      guard let some = try connection?.read() else { return }
      bytes = some
    } catch {
      return finish("\(error)")
    }
    if bytes.isEmpty {
      guard case .body(var lines) = answer else { return finish("it has ended the connection") }
      let rest = lines.takeRest()
      if !rest.isEmpty { told(.line(rest)) }
      return finish(nil)
    }
    switch answer {
    case .head(let begin): takeHead(begin + bytes)
    case .body(let lines): takeLines(lines, bytes[...])
    }
  }

  private func takeHead(_ head: [UInt8]) {
    answer = .head(head)
    // CRLF CRLF.
    let end = head.indices.first { head[$0...].starts(with: [13, 10, 13, 10]) }
    guard let end else {
      if head.count > Self.longestHead { finish("its answer is no HTTP") }
      return
    }
    let words = String(decoding: head[..<end], as: UTF8.self).prefix { $0 != "\r\n" }.split(separator: " ")
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]), (100...999).contains(status) else {
      return finish("its answer is no HTTP")
    }
    told(.status(status))
    takeLines(LineBuffer(longest: Self.longestLine), head[(end + 4)...])
  }

  private func takeLines(_ begun: LineBuffer, _ more: ArraySlice<UInt8>) {
    var lines = begun
    lines.append(Array(more))
    answer = .body(lines)
    while connection != nil, let line = lines.takeLine() { if !line.isEmpty { told(.line(line)) } }
    answer = .body(lines)
  }
}
