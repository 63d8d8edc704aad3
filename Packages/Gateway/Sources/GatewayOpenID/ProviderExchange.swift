internal import CCurl
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import OpenIDConnect

/// Certificates (PEM) by which a provider's is verified. Their memory is never moved.
final class Authorities {
  let bytes: UnsafeRawBufferPointer

  init(_ text: [UInt8]) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, text.count), alignment: 1)
    copy.copyBytes(from: text)
    bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(copy)[..<text.count])
  }

  deinit { bytes.deallocate() }

  /// Initialises libcurl, and reads the certificates of the system while files may still be read.
  static func ofSystem() throws(SystemError) -> Authorities {
    guard curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK, let easy = curl_easy_init() else {
      throw SystemError(code: ENOMEM, operation: "begin libcurl")
    }
    defer { curl_easy_cleanup(easy) }
    let path = roamward_curl_authorities(easy).map { String(cString: $0) }
    return Authorities(path.flatMap { try? TextFile.read($0, limit: 1 << 24) } ?? [])
  }
}

/// One request to the provider through libcurl's multi interface, by TLS with the certificate verified. libcurl reports the sockets to
/// watch and its next timer, and is only called from the loop.
///
/// There are no proxies, cookies, redirects or persistent connections, and libcurl's own resolver is never used.
final class ProviderExchange {
  /// Of a response, in bytes: its body, and its headers.
  static let bodyLimit = 131_072
  static let headerLimit = 32_768
  /// For all of it, in milliseconds.
  private static let patience = 10_000
  private static let connectPatience = 5000

  private let loop: DescriptorLoop
  private let then: (ProviderResponse) -> Void
  private var easy: OpaquePointer?
  /// One for each exchange: no connection or TLS session of one is that of the next.
  private var multi: OpaquePointer?
  private var lists: [UnsafeMutablePointer<curl_slist>] = []
  private let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private var sockets: [Int32: DescriptorLoop.Source] = [:]
  private var wake: DescriptorLoop.Source?
  private var body: [UInt8] = []
  private var headerCount = 0
  private var isTooLong = false
  private let authorities: Authorities

  /// Begins; `nil` if libcurl takes no request. `then` is called once, later; releasing the value cancels it.
  init?(
    _ request: ProviderRequest, at addresses: [IPAddress], trusting authorities: Authorities, on loop: DescriptorLoop,
    then: @escaping (ProviderResponse) -> Void
  ) {
    self.loop = loop
    self.then = then
    self.authorities = authorities
    words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    easy = OpaquePointer(curl_easy_init())
    multi = OpaquePointer(curl_multi_init())
    guard easy != nil, multi != nil, let parts = URLParts(request.url), parts.isSecure, setUp(request, parts, addresses), attach() else {
      close()
      return nil
    }
  }

  deinit {
    close()
    words.deallocate()
  }

  private func setUp(_ request: ProviderRequest, _ parts: URLParts, _ addresses: [IPAddress]) -> Bool {
    let easy = UnsafeMutableRawPointer(self.easy)
    var isSet = true
    func set(_ option: CURLoption, _ value: Int) { isSet = roamward_curl_set_number(easy, option, value) == CURLE_OK && isSet }
    func set(_ option: CURLoption, _ value: String) { isSet = roamward_curl_set_text(easy, option, value) == CURLE_OK && isSet }
    func set(_ option: CURLoption, _ values: [String]) {
      var list: UnsafeMutablePointer<curl_slist>?
      for value in values {
        guard let longer = curl_slist_append(list, value) else { return isSet = false }
        list = longer
      }
      guard let list else { return }
      lists.append(list)
      isSet = roamward_curl_set_list(easy, option, list) == CURLE_OK && isSet
    }
    isSet = roamward_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, words) == CURLE_OK
    set(CURLOPT_URL, parts.url)
    set(CURLOPT_PROTOCOLS_STR, "https")
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_TCP_NODELAY, 0)
    set(CURLOPT_TIMEOUT_MS, Self.patience)
    set(CURLOPT_CONNECTTIMEOUT_MS, Self.connectPatience)
    // An empty name means no proxy, whatever the environment contains.
    set(CURLOPT_PROXY, "")
    set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    set(CURLOPT_FRESH_CONNECT, 1)
    set(CURLOPT_FORBID_REUSE, 1)
    set(CURLOPT_SSL_SESSIONID_CACHE, 0)
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, 2)
    isSet = roamward_curl_set_text(easy, CURLOPT_CAPATH, nil) == CURLE_OK && isSet
    isSet = roamward_curl_set_authorities(easy, authorities.bytes.baseAddress, authorities.bytes.count) == CURLE_OK && isSet
    if case .name = parts.host {
      set(CURLOPT_RESOLVE, ["\(parts.hostText):\(parts.port):\(addresses.map(\.inBrackets).joined(separator: ","))"])
    }
    var headers = ["Accept: application/json", "User-Agent: roamward-gateway", "Expect:"]
    if let authorization = request.authorization { headers.append("Authorization: \(authorization)") }
    set(CURLOPT_HTTPHEADER, headers)
    if let form = request.form { isSet = roamward_curl_set_form(easy, form) == CURLE_OK && isSet } else { set(CURLOPT_HTTPGET, 1) }
    return isSet
  }

  private func attach() -> Bool {
    let context = Unmanaged.passUnretained(self).toOpaque()
    let easy = UnsafeMutableRawPointer(self.easy)
    let multi = UnsafeMutableRawPointer(self.multi)
    let isSet =
      roamward_curl_on_header(
        easy, { _, size, count, context in ProviderExchange.from(context)?.takeHeader(size * count) ?? 0 }, context) == CURLE_OK
      && roamward_curl_on_body(
        easy, { bytes, size, count, context in ProviderExchange.from(context)?.takeBody(bytes, size * count) ?? 0 }, context) == CURLE_OK
      && roamward_curl_on_watch(
        multi,
        { _, socket, what, context, _ in
          ProviderExchange.from(context)?.watch(socket, what)
          return 0
        }, context) == CURLM_OK
      && roamward_curl_on_pace(
        multi,
        { _, milliseconds, context in
          ProviderExchange.from(context)?.pace(milliseconds)
          return 0
        }, context) == CURLM_OK
    return isSet && curl_multi_add_handle(multi, easy) == CURLM_OK
  }

  private func close() {
    wake = nil
    // The sources end before libcurl closes the sockets.
    for source in sockets.values { source.cancel() }
    sockets = [:]
    let easy = UnsafeMutableRawPointer(self.easy)
    let multi = UnsafeMutableRawPointer(self.multi)
    self.easy = nil
    self.multi = nil
    if let multi, let easy {
      roamward_curl_on_watch(multi, nil, nil)
      roamward_curl_on_pace(multi, nil, nil)
      curl_multi_remove_handle(multi, easy)
    }
    if let easy { curl_easy_cleanup(easy) }
    if let multi { curl_multi_cleanup(multi) }
    for list in lists { curl_slist_free_all(list) }
    lists = []
  }
}

// Callbacks of libcurl, always during one of our calls.
extension ProviderExchange {
  private static func from(_ context: UnsafeMutableRawPointer?) -> ProviderExchange? {
    context.map { Unmanaged<ProviderExchange>.fromOpaque($0).takeUnretainedValue() }
  }

  // A length of less ends the transfer.
  private func takeHeader(_ length: Int) -> Int {
    headerCount += length
    if headerCount > Self.headerLimit { isTooLong = true }
    return isTooLong ? 0 : length
  }

  private func takeBody(_ bytes: UnsafeMutablePointer<CChar>?, _ length: Int) -> Int {
    guard length <= Self.bodyLimit - body.count else {
      isTooLong = true
      return 0
    }
    body += UnsafeRawBufferPointer(start: bytes, count: length)
    return length
  }

  private func watch(_ socket: Int32, _ what: Int32) {
    sockets.removeValue(forKey: socket)?.cancel()
    let readable = what == CURL_POLL_IN || what == CURL_POLL_INOUT
    let writable = what == CURL_POLL_OUT || what == CURL_POLL_INOUT
    guard readable || writable else { return }
    let events = (readable ? Readiness.readable : 0) | (writable ? Readiness.writable : 0)
    sockets[socket] = try? loop.whenReady(socket, events: events) { [weak self] bits in
      let isBroken = bits & Readiness.ended != 0
      self?.process(
        socket,
        (bits & Readiness.readable != 0 ? CURL_CSELECT_IN : 0) | (bits & Readiness.writable != 0 ? CURL_CSELECT_OUT : 0)
          | (isBroken ? CURL_CSELECT_ERR : 0))
    }
  }

  private func pace(_ milliseconds: Int) {
    wake = milliseconds < 0 ? nil : try? loop.at(.now + .milliseconds(milliseconds)) { [weak self] in self?.process(CURL_SOCKET_BAD, 0) }
  }
}

// Callbacks of the loop.
extension ProviderExchange {
  /// Reports events, or a time-out: CURL_SOCKET_TIMEOUT has the value of CURL_SOCKET_BAD.
  private func process(_ socket: Int32, _ events: Int32) {
    guard let multi else { return }
    var running: Int32 = 0
    var left: Int32 = 0
    curl_multi_socket_action(UnsafeMutableRawPointer(multi), socket, events, &running)
    guard let message = curl_multi_info_read(UnsafeMutableRawPointer(multi), &left), message.pointee.msg == CURLMSG_DONE else { return }
    let response = response(message.pointee.data.result)
    close()
    then(response)
  }

  /// A response that has not come to its end counts as none.
  private func response(_ code: CURLcode) -> ProviderResponse {
    if isTooLong { return .failed("its answer is longer than \(Self.bodyLimit) bytes") }
    guard code == CURLE_OK else {
      return .failed(words.pointee != 0 ? String(cString: words) : String(cString: curl_easy_strerror(code)))
    }
    return .response(status: roamward_curl_status(UnsafeMutableRawPointer(easy)), body: body)
  }
}

extension IPAddress {
  /// The format of CURLOPT_RESOLVE.
  fileprivate var inBrackets: String { family == .v6 ? "[\(self)]" : description }
}
