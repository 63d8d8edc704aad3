internal import NetworkTypes
package import ProviderProtocol

/// A line of charon's log, as its file logger writes it: `05[IKE] received AUTHENTICATION_FAILED notify error`.
package enum CharonLine: Equatable, Sendable {
  /// The reason why there is no tunnel, and who can help.
  case trouble(TunnelFailure)
  /// The server refuses this machine, and does not say why (RFC 7296, 2.21.2).
  case refused(String)
  /// A message is sent again: the server has not answered.
  case waiting(String)
  /// The server has answered a message of an established tunnel.
  case answered
  /// The server has sent the address of a name server. vici does not tell it.
  case nameServer(String)
  case other(String)

  /// Reads any line.
  package init(_ line: Substring) {
    let text = String((line.firstRange(of: "] ").map { line[$0.upperBound...] } ?? line).prefix(500))
    if let trouble = Self.troubles.first(where: { text.contains($0.sign) }) {
      self = .trouble(TunnelFailure(code: trouble.code, text: "\(trouble.text) (\(text))", help: trouble.help))
    } else if text.contains("received AUTHENTICATION_FAILED") {
      self = .refused(text)
    } else if text.hasPrefix("retransmit ") {
      self = .waiting(text)
    } else if text.hasPrefix("parsed INFORMATIONAL response") || text.hasPrefix("parsed CREATE_CHILD_SA response") {
      self = .answered
    } else if text.hasPrefix("installing DNS server ") {
      self = .nameServer(String(text.dropFirst(22).prefix { $0 != " " }))
    } else {
      self = .other(text)
    }
  }

  private struct Trouble {
    let sign: String
    let code: Word
    let text: String
    let help: TunnelFailure.Help

    init(_ sign: String, _ code: Word, _ text: String, _ help: TunnelFailure.Help) {
      (self.sign, self.code, self.text, self.help) = (sign, code, text, help)
    }
  }

  private static let troubles = [
    Trouble("EAP method EAP_MSCHAPV2 failed", "auth-failed", "the server refused the password; correct it", .person),
    Trouble("EAP-MS-CHAPv2 failed", "auth-failed", "the server refused the password; correct it", .person),
    Trouble("MAC mismatched", "auth-failed", "the server has another key; correct the credential `psk`", .person),
    Trouble("no shared key found for", "auth-failed", "there is no key for this server; check `remote-id`", .person),
    Trouble("no trusted", "server-untrusted", "no authority vouches for the server; check the credential `ca` and `remote-id`", .person),
    Trouble("no issuer certificate found", "server-untrusted", "no authority vouches for the server; check the credential `ca`", .person),
    Trouble("certificate invalid", "server-untrusted", "a certificate is not valid now; check the clock and the server", .person),
    Trouble(
      "constraint check failed", "server-untrusted", "the server is another one than the policy names; check `remote-id`", .person),
    Trouble(
      "received NO_PROPOSAL_CHOSEN", "no-proposal", "the server takes none of the algorithms; set `proposals` or `esp-proposals`", .nobody),
    Trouble("no acceptable", "no-proposal", "the server's algorithms are not acceptable; set `proposals` or `esp-proposals`", .nobody),
    Trouble("received TS_UNACCEPTABLE", "routes-refused", "the server does not carry these networks; correct `routes`", .nobody),
    Trouble("received INTERNAL_ADDRESS_FAILURE", "server-full", "the server has no address for this machine", .time),
    Trouble("giving up after", "peer-timeout", "the server does not answer; check the network's firewall (UDP 500 and 4500)", .time),
    Trouble("unable to add SAD entry", "no-ipsec", "the kernel refuses IPsec; load esp4 and esp6", .person),
  ]
}
