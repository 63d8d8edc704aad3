internal import CCurl
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import ProbeProtocol

/// One GET through libcurl's multi interface. libcurl reports the sockets to watch and its next timer, and is only called from the loop.
///
/// libcurl's own resolver is never used: every name comes with its addresses. There are no proxies, cookies, redirects or persistent
/// connections.
final class CurlTransfer {
  private let loop: DescriptorLoop
  private let broker: SocketBroker
  private let errand: UInt32
  private let then: (ErrandAnswer) -> Void
  private let bodyLimit: Int

  private var easy: OpaquePointer?
  /// One for each transfer: no connection, look-up or TLS session of one network exists on the next.
  private var multi: OpaquePointer?
  private var lists: [UnsafeMutablePointer<curl_slist>] = []
  private let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private var sockets: [Int32: DescriptorLoop.Source] = [:]
  private var wake: DescriptorLoop.Source?

  private var status = 0
  private var body: [UInt8] = []
  /// The reason why the agent refused the last requested socket.
  private var refusal: String?

  /// `nil` if libcurl takes no request. `then` is called once, later, never during this call; releasing the value cancels it.
  init?(
    _ order: Transfer, trusting authorities: Authorities, for errand: UInt32, _ broker: SocketBroker, on loop: DescriptorLoop,
    then: @escaping (ErrandAnswer) -> Void
  ) {
    self.loop = loop
    self.broker = broker
    self.errand = errand
    self.then = then
    bodyLimit = order.bodyLimit
    words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    easy = OpaquePointer(curl_easy_init())
    multi = OpaquePointer(curl_multi_init())
    guard easy != nil, multi != nil, let parts = URLParts(order.url), setUp(order, parts, authorities), attach() else {
      close()
      return nil
    }
  }

  deinit {
    close()
    words.deallocate()
  }

  private func setUp(_ order: Transfer, _ parts: URLParts, _ authorities: Authorities) -> Bool {
    let easy = UnsafeMutableRawPointer(self.easy)
    var isSet = true
    func set(_ option: CURLoption, _ value: Int) { isSet = roamward_curl_set_number(easy, option, value) == CURLE_OK && isSet }
    func set(_ option: CURLoption, _ value: String) { isSet = roamward_curl_set_text(easy, option, value) == CURLE_OK && isSet }
    func set(_ option: CURLoption, _ value: [String]) {
      guard let list = curl_slist_append(nil, value[0]) else { return isSet = false }
      lists.append(list)
      isSet = roamward_curl_set_list(easy, option, list) == CURLE_OK && isSet
    }
    isSet = roamward_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, words) == CURLE_OK
    set(CURLOPT_URL, parts.url)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_HTTPGET, 1)
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_NOSIGNAL, 1)
    // The agent has set all socket options.
    set(CURLOPT_TCP_NODELAY, 0)
    // An empty name means no proxy, whatever the environment contains.
    set(CURLOPT_PROXY, "")
    set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    set(CURLOPT_FRESH_CONNECT, 1)
    set(CURLOPT_FORBID_REUSE, 1)
    set(CURLOPT_SSL_SESSIONID_CACHE, 0)
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    // A pin replaces the check by certificate authorities (docs/decisions/0006).
    if order.pins.isEmpty {
      isSet = roamward_curl_set_text(easy, CURLOPT_CAPATH, nil) == CURLE_OK && isSet
      isSet = roamward_curl_set_authorities(easy, authorities.bytes.baseAddress, authorities.count) == CURLE_OK && isSet
    } else {
      set(CURLOPT_PINNEDPUBLICKEY, order.pins.joined(separator: ";"))
      set(CURLOPT_SSL_VERIFYPEER, 0)
      set(CURLOPT_SSL_VERIFYHOST, 0)
    }
    if case .name = parts.host {
      set(CURLOPT_RESOLVE, ["\(parts.hostText):\(parts.port):\(order.addresses.map(\.inBrackets).joined(separator: ","))"])
    }
    if let accept = order.accept { set(CURLOPT_HTTPHEADER, ["Accept: \(accept)"]) }
    return isSet
  }

  private func attach() -> Bool {
    let context = Unmanaged.passUnretained(self).toOpaque()
    let easy = UnsafeMutableRawPointer(self.easy)
    let multi = UnsafeMutableRawPointer(self.multi)
    let isSet =
      roamward_curl_on_socket(
        easy, { context, purpose, address in CurlTransfer.from(context)?.open(purpose, address) ?? CURL_SOCKET_BAD }, context) == CURLE_OK
      && roamward_curl_on_header(
        easy, { line, size, count, context in CurlTransfer.from(context)?.takeHeader(line, size * count) ?? 0 }, context) == CURLE_OK
      && roamward_curl_on_body(
        easy, { bytes, size, count, context in CurlTransfer.from(context)?.takeBody(bytes, size * count) ?? 0 }, context) == CURLE_OK
      && roamward_curl_on_watch(
        multi,
        { _, socket, what, context, _ in
          CurlTransfer.from(context)?.watch(socket, what)
          return 0
        }, context) == CURLM_OK
      && roamward_curl_on_pace(
        multi,
        { _, milliseconds, context in
          CurlTransfer.from(context)?.pace(milliseconds)
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
extension CurlTransfer {
  private static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
    context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Returns a socket, for internet addresses only. It is already connecting; the system call filter answers `connect` accordingly.
  private func open(_ purpose: curlsocktype, _ address: UnsafePointer<curl_sockaddr>?) -> curl_socket_t {
    var bytes = [UInt8](repeating: 0, count: 16)
    var port: UInt16 = 0
    guard purpose == CURLSOCKTYPE_IPCXN, let address, address.pointee.socktype == Int32(SOCK_STREAM.rawValue) else {
      return CURL_SOCKET_BAD
    }
    let count = roamward_curl_address(address, &bytes, &port)
    guard let found = IPAddress(bytes: bytes.prefix(Int(count))) else { return CURL_SOCKET_BAD }
    do throws(SocketBroker.Trouble) {
      let file = try broker.socket(.tcp, to: Destination(found, port: port), for: errand)
      // libcurl closes it.
      return fcntl(file.number, F_DUPFD_CLOEXEC, 0)
    } catch {
      if case .refused(let reason) = error { refusal = reason }
      return CURL_SOCKET_BAD
    }
  }

  /// Reads a header line. Without a wanted body, the end of the headers ends the transfer. 1xx responses precede the final one.
  private func takeHeader(_ line: UnsafeMutablePointer<CChar>?, _ length: Int) -> Int {
    guard length <= 2, let first = line?.pointee, first == 13 || first == 10 else { return length }
    let status = roamward_curl_status(UnsafeMutableRawPointer(easy))
    if status < 200 { return length }
    self.status = status
    return bodyLimit == 0 ? 0 : length
  }

  private func takeBody(_ bytes: UnsafeMutablePointer<CChar>?, _ length: Int) -> Int {
    let room = bodyLimit - body.count
    body += UnsafeRawBufferPointer(start: bytes, count: min(length, room))
    // A length of one byte less ends the transfer.
    return length < room ? length : 0
  }

  private func watch(_ socket: Int32, _ what: Int32) {
    // The source ends at once: libcurl closes the socket next, or wants other events of it.
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
extension CurlTransfer {
  /// Reports events, or a time-out: CURL_SOCKET_TIMEOUT has the value of CURL_SOCKET_BAD.
  private func process(_ socket: Int32, _ events: Int32) {
    guard let multi else { return }
    var running: Int32 = 0
    var left: Int32 = 0
    curl_multi_socket_action(UnsafeMutableRawPointer(multi), socket, events, &running)
    guard let message = curl_multi_info_read(UnsafeMutableRawPointer(multi), &left), message.pointee.msg == CURLMSG_DONE else { return }
    let answer = answer(message.pointee.data.result)
    close()
    then(answer)
  }

  /// The result. Once the headers are there, the error code does not matter: mostly it was this process that ended the transfer.
  private func answer(_ code: CURLcode) -> ErrandAnswer {
    if status != 0 { return .response(status: status, body: body) }
    var reason = words.pointee != 0 ? String(cString: words) : String(cString: curl_easy_strerror(code))
    if code == CURLE_COULDNT_CONNECT, let refusal { reason = refusal }
    switch code {
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
      return .impostor(reason: reason)
    default: return .unanswered(reason: reason)
    }
  }
}

extension IPAddress {
  /// The format of CURLOPT_RESOLVE.
  fileprivate var inBrackets: String { family == .v6 ? "[\(self)]" : description }
}
