internal import CCurl
internal import ClientLibraries
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import ProbeProtocol

/// One GET of a probe, on sockets of the agent.
final class CurlTransfer {
  private let broker: SocketBroker
  private let errand: UInt32
  private let then: (ErrandAnswer) -> Void
  private let bodyLimit: Int
  private let request: CurlRequest

  private var status = 0
  private var body: [UInt8] = []
  /// The reason why the agent refused the last requested socket.
  private var refusal: String?

  /// `nil` if libcurl takes no request. `then` is called once, later, never during this call; releasing the value cancels it.
  init?(
    _ order: Transfer, trusting authorities: Authorities, for errand: UInt32, _ broker: SocketBroker, on loop: DescriptorLoop,
    then: @escaping (ErrandAnswer) -> Void
  ) {
    guard let parts = URLParts(order.url) else { return nil }
    self.broker = broker
    self.errand = errand
    self.then = then
    bodyLimit = order.bodyLimit
    request = CurlRequest(parts, protocols: "http,https", at: order.addresses, on: loop)
    request.set(CURLOPT_HTTPGET, 1)
    // A pin replaces the check by certificate authorities (docs/decisions/0006).
    if order.pins.isEmpty {
      request.trust(authorities)
    } else {
      request.set(CURLOPT_PINNEDPUBLICKEY, order.pins.joined(separator: ";"))
      request.set(CURLOPT_SSL_VERIFYPEER, 0)
      request.set(CURLOPT_SSL_VERIFYHOST, 0)
    }
    if let accept = order.accept { request.set(CURLOPT_HTTPHEADER, ["Accept: \(accept)"]) }
    let isBegun = request.begin(
      CurlRequest.Handlers(
        header: { [weak self] in self?.takeHeader($0, $1) ?? 0 }, body: { [weak self] in self?.takeBody($0) ?? 0 },
        socket: { [weak self] in self?.open($0, $1) ?? CURL_SOCKET_BAD },
        ended: { [weak self] in
          guard let self else { return }
          then(answer($0))
        }))
    guard isBegun else { return nil }
  }
}

// Callbacks of libcurl, always during one of our calls.
extension CurlTransfer {
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
    let status = request.status
    if status < 200 { return length }
    self.status = status
    return bodyLimit == 0 ? 0 : length
  }

  private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    let room = bodyLimit - body.count
    body += bytes.prefix(room)
    // A length of one byte less ends the transfer.
    return bytes.count < room ? bytes.count : 0
  }

  /// The result. Once the headers are there, the error code does not matter: mostly it was this process that ended the transfer.
  private func answer(_ outcome: CurlRequest.Outcome) -> ErrandAnswer {
    if status != 0 { return .response(status: status, body: body) }
    var reason = outcome.reason
    if outcome.code == CURLE_COULDNT_CONNECT, let refusal { reason = refusal }
    switch outcome.code {
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
      return .impostor(reason: reason)
    default: return .unanswered(reason: reason)
    }
  }
}
