internal import CCurl
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import RoamwardCore
internal import SystemdIO

/// One GET through libcurl's multi interface: it says which sockets to watch and when to be woken, and is only ever entered from the loop.
///
/// libcurl's own resolver is never asked: every name comes with its addresses.
final class CurlTransfer {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let loop: EventLoop
  private let then: (ProbeReply) -> Void
  private var transfer: OpaquePointer?
  private var sockets: [Int32: EventSource] = [:]
  private var wake: EventSource?

  init(
    _ request: ProbeRequest, _ parts: URLParts, _ addresses: [IPAddress]?, link: String?, mark: UInt32, on loop: EventLoop,
    then: @escaping (ProbeReply) -> Void
  ) throws(Failure) {
    self.loop = loop
    self.then = then
    if let trouble = ccurl_load() { throw Failure(description: String(cString: trouble)) }
    let resolve = addresses.map { "\(parts.hostText):\(parts.port):\($0.map(\.inBrackets).joined(separator: ","))" }
    let context = Unmanaged.passUnretained(self).toOpaque()
    transfer = withStrings(
      parts.url, resolve, request.pins.isEmpty ? nil : request.pins.joined(separator: ";"),
      request.accept.map { "Accept: \($0)" }, link
    ) { url, resolve, pins, header, link in
      var wish = ccurl_request(
        url: url, addresses: resolve, pins: pins, header: header, link: link, mark: mark, body_limit: request.bodyLimit)
      return ccurl_open(
        &wish, { context, socket, readable, writable in CurlTransfer.from(context)?.watch(socket, readable != 0, writable != 0) },
        { context, milliseconds in CurlTransfer.from(context)?.pace(milliseconds) }, context)
    }
    if transfer == nil { throw Failure(description: "libcurl takes no request") }
  }

  deinit { close() }

  private func close() {
    guard let transfer else { return }
    self.transfer = nil
    wake = nil
    // Before libcurl closes them.
    for source in sockets.values { source.cancel() }
    sockets = [:]
    ccurl_close(transfer)
  }
}

// What libcurl calls, always from within a call of ours.
extension CurlTransfer {
  private static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
    context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
  }

  private func watch(_ socket: Int32, _ readable: Bool, _ writable: Bool) {
    // At once: libcurl closes the socket next, or wants other events of it.
    sockets.removeValue(forKey: socket)?.cancel()
    guard readable || writable else { return }
    let events = (readable ? EPOLLIN.rawValue : 0) | (writable ? EPOLLOUT.rawValue : 0)
    sockets[socket] = try? loop.whenReady(socket, events: events) { [weak self] bits in
      let isBroken = bits & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
      self?.process(socket, bits & EPOLLIN.rawValue != 0, bits & EPOLLOUT.rawValue != 0, isBroken)
    }
  }

  private func pace(_ milliseconds: Int) {
    wake =
      milliseconds < 0 ? nil : try? loop.at(.now + .milliseconds(milliseconds)) { [weak self] in self?.process(-1, false, false, false) }
  }
}

// What the loop calls.
extension CurlTransfer {
  private func process(_ socket: Int32, _ readable: Bool, _ writable: Bool, _ isBroken: Bool) {
    guard let transfer else { return }
    var outcome = ccurl_outcome()
    guard ccurl_process(transfer, socket, readable ? 1 : 0, writable ? 1 : 0, isBroken ? 1 : 0, &outcome) != 0 else { return }
    let reply = ProbeReply(outcome)
    close()
    then(reply)
  }
}

extension ProbeReply {
  fileprivate init(_ outcome: ccurl_outcome) {
    if outcome.status != 0 {
      let body = UnsafeBufferPointer(start: outcome.body, count: outcome.length)
      self = .response(status: outcome.status, body: Array(body))
    } else if let refused = outcome.refused {
      self = .unsent(because: SystemError(code: outcome.error, operation: String(cString: refused)).description)
    } else {
      let reason = outcome.reason.map { String(cString: $0) } ?? "no reason is given"
      self = outcome.is_impostor != 0 ? .impostor(because: reason) : .unanswered(because: reason)
    }
  }
}

extension IPAddress {
  /// As CURLOPT_RESOLVE wants them.
  fileprivate var inBrackets: String { family == .v6 ? "[\(self)]" : description }
}

/// Five strings for as long as a call lasts; `nil` is a null pointer.
private func withStrings<Result>(
  _ a: String, _ b: String?, _ c: String?, _ d: String?, _ e: String?,
  _ body: (UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Result
) -> Result {
  func with(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result { text.map { $0.withCString(body) } ?? body(nil) }
  return with(a) { a in with(b) { b in with(c) { c in with(d) { d in with(e) { e in body(a, b, c, d, e) } } } } }
}
