package import CCurl
package import LinuxIO
package import NetworkTypes

/// One request of HTTP/1.1 through libcurl's multi interface. libcurl reports the sockets to watch and its next timer, and is only called
/// from the loop.
///
/// libcurl's own resolver is never used: every name comes with its addresses. There are no proxies, cookies, redirects or persistent
/// connections, and TLS is 1.2 at least.
package final class CurlRequest {
  /// libcurl's questions, always during one of our calls.
  package struct Handlers {
    /// Takes a line of the headers, with its length in bytes. Less than the length ends the request.
    package var header: (UnsafeMutablePointer<CChar>?, Int) -> Int
    /// The same of a piece of the body.
    package var body: (UnsafeRawBufferPointer) -> Int
    /// Opens a socket; `nil`: libcurl does.
    package var socket: ((curlsocktype, UnsafePointer<curl_sockaddr>?) -> curl_socket_t)?
    /// Called once, from the loop, with libcurl's result and the response's status; libcurl has nothing of the request any more.
    package var ended: (Outcome) -> Void

    package init(
      header: @escaping (UnsafeMutablePointer<CChar>?, Int) -> Int, body: @escaping (UnsafeRawBufferPointer) -> Int,
      socket: ((curlsocktype, UnsafePointer<curl_sockaddr>?) -> curl_socket_t)? = nil,
      ended: @escaping (Outcome) -> Void
    ) {
      (self.header, self.body, self.socket, self.ended) = (header, body, socket, ended)
    }
  }

  package struct Outcome {
    package let code: CURLcode
    /// The reason, in libcurl's words, why there is no response.
    package let reason: String
    /// 0: there was none.
    package let status: Int
  }

  private let loop: DescriptorLoop
  private var handlers: Handlers?
  private var easy: UnsafeMutableRawPointer?
  /// One for each request: no connection, look-up or TLS session of one network exists on the next.
  private var multi: UnsafeMutableRawPointer?
  private var isSet = true
  private var lists: [UnsafeMutablePointer<curl_slist>] = []
  /// libcurl has their address.
  private var authorities: Authorities?
  private let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private var sockets: [Int32: DescriptorLoop.Source] = [:]
  private var wake: DescriptorLoop.Source?

  /// - Parameters:
  ///   - protocols: those that are allowed, as libcurl writes them: `http,https`.
  ///   - addresses: those of the host, if it is a name.
  package init(_ parts: URLParts, protocols: String, at addresses: [IPAddress], on loop: DescriptorLoop) {
    self.loop = loop
    words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    easy = curl_easy_init()
    multi = curl_multi_init()
    isSet = roamward_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, words) == CURLE_OK
    set(CURLOPT_URL, parts.url)
    set(CURLOPT_PROTOCOLS_STR, protocols)
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_NOSIGNAL, 1)
    // A filter of system calls permits no options of sockets.
    set(CURLOPT_TCP_NODELAY, 0)
    // An empty name means no proxy, whatever the environment contains.
    set(CURLOPT_PROXY, "")
    set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
    set(CURLOPT_FRESH_CONNECT, 1)
    set(CURLOPT_FORBID_REUSE, 1)
    set(CURLOPT_SSL_SESSIONID_CACHE, 0)
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
    if case .name = parts.host {
      set(CURLOPT_RESOLVE, ["\(parts.hostText):\(parts.port):\(addresses.map(\.inBrackets).joined(separator: ","))"])
    }
  }

  deinit {
    close()
    words.deallocate()
  }

  package func set(_ option: CURLoption, _ value: Int) { check(roamward_curl_set_number(easy, option, value)) }

  package func set(_ option: CURLoption, _ value: String) { check(roamward_curl_set_text(easy, option, value)) }

  package func set(_ option: CURLoption, _ values: [String]) {
    var list: UnsafeMutablePointer<curl_slist>?
    for value in values {
      guard let longer = curl_slist_append(list, value) else {
        curl_slist_free_all(list)
        return isSet = false
      }
      list = longer
    }
    guard let list else { return }
    lists.append(list)
    check(roamward_curl_set_list(easy, option, list))
  }

  /// Sends a form instead of a GET.
  package func send(form: String) { check(roamward_curl_set_form(easy, form)) }

  /// Trusts these authorities, and no others.
  package func trust(_ authorities: Authorities) {
    self.authorities = authorities
    check(roamward_curl_set_text(easy, CURLOPT_CAPATH, nil))
    check(roamward_curl_set_authorities(easy, authorities.bytes.baseAddress, authorities.bytes.count))
  }

  private func check(_ code: CURLcode) { isSet = isSet && code == CURLE_OK }

  /// Whether libcurl takes the request, with all of its options.
  package func begin(_ handlers: Handlers) -> Bool {
    self.handlers = handlers
    guard easy != nil, multi != nil, isSet, attach() else {
      close()
      return false
    }
    return true
  }

  /// The status of the response, as far as there is one.
  package var status: Int { roamward_curl_status(easy) }

  private func attach() -> Bool {
    let context = Unmanaged.passUnretained(self).toOpaque()
    if handlers?.socket != nil {
      check(
        roamward_curl_on_socket(
          easy, { context, purpose, address in CurlRequest.from(context)?.handlers?.socket?(purpose, address) ?? CURL_SOCKET_BAD }, context)
      )
    }
    check(
      roamward_curl_on_header(
        easy, { line, size, count, context in CurlRequest.from(context)?.handlers?.header(line, size * count) ?? 0 }, context))
    check(
      roamward_curl_on_body(
        easy,
        { bytes, size, count, context in
          CurlRequest.from(context)?.handlers?.body(UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
        }, context))
    let isWatched =
      roamward_curl_on_watch(
        multi,
        { _, socket, what, context, _ in
          CurlRequest.from(context)?.watch(socket, what)
          return 0
        }, context) == CURLM_OK
      && roamward_curl_on_pace(
        multi,
        { _, milliseconds, context in
          CurlRequest.from(context)?.pace(milliseconds)
          return 0
        }, context) == CURLM_OK
    return isSet && isWatched && curl_multi_add_handle(multi, easy) == CURLM_OK
  }

  private func close() {
    wake = nil
    // The sources end before libcurl closes the sockets.
    for source in sockets.values { source.cancel() }
    sockets = [:]
    let (easy, multi) = (easy, multi)
    (self.easy, self.multi) = (nil, nil)
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

// Callbacks of libcurl.
extension CurlRequest {
  private static func from(_ context: UnsafeMutableRawPointer?) -> CurlRequest? {
    context.map { Unmanaged<CurlRequest>.fromOpaque($0).takeUnretainedValue() }
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
extension CurlRequest {
  /// Reports events, or a time-out: CURL_SOCKET_TIMEOUT has the value of CURL_SOCKET_BAD.
  private func process(_ socket: Int32, _ events: Int32) {
    guard let multi else { return }
    var running: Int32 = 0
    var left: Int32 = 0
    curl_multi_socket_action(multi, socket, events, &running)
    guard let message = curl_multi_info_read(multi, &left), message.pointee.msg == CURLMSG_DONE else { return }
    let code = message.pointee.data.result
    let reason = words.pointee != 0 ? String(cString: words) : String(cString: curl_easy_strerror(code))
    let (outcome, ended) = (Outcome(code: code, reason: reason, status: status), handlers?.ended)
    close()
    handlers = nil
    ended?(outcome)
  }
}

extension IPAddress {
  /// The format of CURLOPT_RESOLVE.
  fileprivate var inBrackets: String { family == .v6 ? "[\(self)]" : description }
}
