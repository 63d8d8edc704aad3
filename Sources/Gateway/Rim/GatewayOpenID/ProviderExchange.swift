internal import CCurl
internal import ClientLibraries
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import OpenIDConnect

/// One request to the provider, by TLS with the certificate verified.
final class ProviderExchange {
  /// Of a response, in bytes: its body, and its headers.
  static let bodyLimit = 131_072
  static let headerLimit = 32_768
  /// For all of it, in milliseconds.
  private static let patience = 10_000
  private static let connectPatience = 5000

  private let request: CurlRequest
  private var body: [UInt8] = []
  private var headerCount = 0
  private var isTooLong = false

  /// Begins; `nil` if libcurl takes no request. `then` is called once, later; releasing the value cancels it.
  init?(
    _ wanted: ProviderRequest, at addresses: [IPAddress], trusting authorities: Authorities, on loop: DescriptorLoop,
    then: @escaping (ProviderResponse) -> Void
  ) {
    guard let parts = URLParts(wanted.url), parts.isSecure else { return nil }
    request = CurlRequest(parts, protocols: "https", at: addresses, on: loop)
    request.set(CURLOPT_TIMEOUT_MS, Self.patience)
    request.set(CURLOPT_CONNECTTIMEOUT_MS, Self.connectPatience)
    request.set(CURLOPT_SSL_VERIFYPEER, 1)
    request.set(CURLOPT_SSL_VERIFYHOST, 2)
    request.trust(authorities)
    var headers = ["Accept: application/json", "User-Agent: roamward-gateway", "Expect:"]
    if let authorization = wanted.authorization { headers.append("Authorization: \(authorization)") }
    request.set(CURLOPT_HTTPHEADER, headers)
    if let form = wanted.form { request.send(form: form) } else { request.set(CURLOPT_HTTPGET, 1) }
    let isBegun = request.begin(
      CurlRequest.Handlers(
        header: { [weak self] in self?.takeHeader($1) ?? 0 }, body: { [weak self] in self?.takeBody($0) ?? 0 },
        ended: { [weak self] in
          guard let self else { return }
          then(response($0))
        }))
    guard isBegun else { return nil }
  }

  // A length of less ends the transfer.
  private func takeHeader(_ length: Int) -> Int {
    headerCount += length
    if headerCount > Self.headerLimit { isTooLong = true }
    return isTooLong ? 0 : length
  }

  private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count <= Self.bodyLimit - body.count else {
      isTooLong = true
      return 0
    }
    body += bytes
    return bytes.count
  }

  /// A response that has not come to its end counts as none.
  private func response(_ outcome: CurlRequest.Outcome) -> ProviderResponse {
    if isTooLong { return .failed("its answer is longer than \(Self.bodyLimit) bytes") }
    guard outcome.code == CURLE_OK else { return .failed(outcome.reason) }
    return .response(status: outcome.status, body: body)
  }
}
