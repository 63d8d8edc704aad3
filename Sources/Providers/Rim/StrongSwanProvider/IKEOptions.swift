package import JSON
internal import NetworkTypes
internal import ProviderCertificates
package import ProviderProtocol
package import VICI

/// The options and credentials of a tunnel, and what charon is told of them.
package struct IKEOptions: Sendable {
  /// The way in which this machine authenticates.
  package enum Login: Sendable {
    case sharedKey([UInt8])
    /// EAP-MSCHAPv2. `nil`: a person is asked for the password.
    case password(username: String, [UInt8]?)
    /// A certificate and its key, in PEM or DER, with certificates that lead to the authority.
    case certificate([UInt8], key: [UInt8], chain: [[UInt8]] = [])
  }

  package var server: String
  package var login: Login
  /// Certificates of authorities.
  package var authorities: [[UInt8]] = []
  var localID: String?
  var remoteID: String
  package var routes: [String]
  var proposals: [String]
  var espProposals: [String]

  /// Throws what is missing.
  ///
  /// - Parameter machine: the file of the machine's own authorities, in PEM; `nil`: there is none.
  package init(_ options: JSON, authorities machine: () -> [UInt8]? = { nil }, credential: (Word) -> [UInt8]?) throws(TunnelFailure) {
    func missing(_ code: Word, _ text: String) -> TunnelFailure { TunnelFailure(code: code, text: text, help: .person) }
    server = options["server"]?.string ?? ""
    localID = options["local-id"]?.string
    remoteID = options["remote-id"]?.string ?? server
    routes = options["routes"]?.array?.compactMap(\.string) ?? ["0.0.0.0/0", "::/0"]
    proposals = options["proposals"]?.array?.compactMap(\.string) ?? []
    espProposals = options["esp-proposals"]?.array?.compactMap(\.string) ?? []
    authorities = credential("ca").map(Self.certificates) ?? []
    if options["authorities"]?.string == "system" {
      guard let file = machine() else {
        throw missing(
          "no-authority", "this machine has no file of authorities: install ca-certificates, or name `credentials: { ca: FILE }`")
      }
      authorities += Self.certificates(file)
    }
    let key = credential("psk").map(Self.trimmed)
    let password = credential("password").map(Self.trimmed)
    let certificate = credential("certificate")
    if let key {
      login = .sharedKey(key)
      return
    }
    if authorities.isEmpty {
      throw missing(
        "no-authority",
        "no authority is named that vouches for the server: `credentials: { ca: ca.pem }`, `options: { authorities: system }`, or `psk`")
    }
    if let username = options["username"]?.string {
      login = .password(username: username, password)
    } else if let certificate {
      guard let key = credential("key") else { throw missing("no-key", "the certificate has no key: `credentials: { key: FILE }`") }
      login = .certificate(certificate, key: key)
    } else if let file = credential("identity") {
      let identity = try PKCS12Identity(file, password: credential("identity-password").map(Self.trimmed))
      login = .certificate(identity.certificate, key: identity.key, chain: identity.chain)
    } else {
      throw missing(
        "no-login", "it says not how to sign in: name `username:`, or the credentials `psk`, `identity`, or `certificate` and `key`")
    }
  }

  /// A person's file ends with a line feed, which is no part of a secret.
  private static func trimmed(_ secret: [UInt8]) -> [UInt8] {
    var secret = secret
    while let last = secret.last, last == 10 || last == 13 { secret.removeLast() }
    return secret
  }

  /// The certificates of a file in PEM, one by one; a file in DER is one.
  private static func certificates(_ file: [UInt8]) -> [[UInt8]] {
    guard let text = String(validating: file, as: UTF8.self) else { return [file] }
    var found: [String] = []
    var isInside = false
    for line in text.split(whereSeparator: \.isNewline) {
      if line == "-----BEGIN CERTIFICATE-----" {
        isInside = true
        found.append("")
      }
      if isInside { found[found.count - 1] += "\(line)\n" }
      if line == "-----END CERTIFICATE-----" { isInside = false }
    }
    return found.map { Array($0.utf8) }
  }

  /// The failure for the server's refusal of this machine, by its way of signing in. `now`: decides whether its certificate is valid
  /// (``CertificateValidity``).
  package func refusal(line: String, at now: String) -> TunnelFailure {
    var (code, text): (Word, String) = ("auth-failed", "")
    switch login {
    case .sharedKey: text = "the server refused this machine's key; correct the credential `psk`, `local-id` or `remote-id`"
    case .password: text = "the server refused this user; correct `username`, `local-id` or `remote-id`"
    case .certificate(let certificate, _, _):
      let validity = CertificateValidity(of: certificate)
      if let validity, validity.end < now {
        code = "certificate-expired"
        text = "this machine's certificate expired on \(CertificateValidity.day(of: validity.end)); renew the credential `certificate`"
      } else if let validity, validity.start > now {
        code = "certificate-not-yet-valid"
        text = "this machine's certificate is valid from \(CertificateValidity.day(of: validity.start)) on; check the clock"
      } else {
        text = "the server refused this machine's certificate; correct the credentials `certificate` and `key`, or `remote-id`"
      }
    }
    return TunnelFailure(code: code, text: "\(text) (\(line))", help: .person)
  }

  // MARK: vici

  /// Everything that charon needs before the start, in its order.
  package func requests(name: String, address: String, link: XFRMLink, password: [UInt8]?) -> [VICIPacket] {
    var packets = authorities.map { certificate in
      VICIPacket.request(
        "load-cert", VICIMessage([.text("type", "X509"), .text("flag", "CA"), .init("data", .value(certificate))]))
    }
    switch login {
    case .sharedKey(let key):
      packets.append(.request("load-shared", VICIMessage([.text("type", "IKE"), .init("data", .value(key)), .texts("owners", [])])))
    case .password(let username, let known):
      packets.append(
        .request(
          "load-shared",
          VICIMessage([.text("type", "EAP"), .init("data", .value(known ?? password ?? [])), .texts("owners", [username])])))
    case .certificate(_, let key, let chain):
      packets += chain.map { certificate in
        .request("load-cert", VICIMessage([.text("type", "X509"), .text("flag", "NONE"), .init("data", .value(certificate))]))
      }
      packets.append(.request("load-key", VICIMessage([.text("type", "any"), .init("data", .value(key))])))
    }
    packets.append(.request("load-conn", VICIMessage([.section(name, connection(name, address, link))])))
    return packets
  }

  private func connection(_ name: String, _ address: String, _ link: XFRMLink) -> [VICIMessage.Element] {
    var elements: [VICIMessage.Element] = [
      .text("version", "2"), .texts("remote_addrs", [address]), .texts("vips", ["0.0.0.0", "::"]),
      // The kernel's own packets pass a kill switch as UDP.
      .text("encap", "yes"), .text("mobike", "yes"), .text("fragmentation", "yes"), .text("dpd_delay", "10s"), .text("keyingtries", "1"),
    ]
    if !proposals.isEmpty { elements.append(.texts("proposals", proposals)) }
    elements.append(.section("local", local))
    var remote: [VICIMessage.Element] = [.text("id", remoteID)]
    if case .sharedKey = login { remote.append(.text("auth", "psk")) } else { remote.append(.text("auth", "pubkey")) }
    elements.append(.section("remote", remote))
    let identifier = String(link.identifier)
    var child: [VICIMessage.Element] = [
      .text("mode", "tunnel"), .texts("local_ts", ["dynamic"]), .texts("remote_ts", routes), .text("if_id_in", identifier),
      .text("if_id_out", identifier), .text("reqid", identifier), .text("set_mark_out", "\(link.mark)/\(link.mask)"),
      .text("dpd_action", "clear"),
      .text("close_action", "none"), .text("start_action", "none"),
    ]
    if !espProposals.isEmpty { child.append(.texts("esp_proposals", espProposals)) }
    elements.append(.section("children", [.section(name, child)]))
    return elements
  }

  private var local: [VICIMessage.Element] {
    var elements: [VICIMessage.Element] = []
    switch login {
    case .sharedKey: elements.append(.text("auth", "psk"))
    case .password(let username, _):
      elements += [.text("auth", "eap-mschapv2"), .text("eap_id", username), .text("id", localID ?? username)]
      return elements
    case .certificate(let certificate, _, _):
      elements += [.text("auth", "pubkey"), .init("certs", .list([certificate]))]
    }
    if let localID { elements.append(.text("id", localID)) }
    return elements
  }
}
