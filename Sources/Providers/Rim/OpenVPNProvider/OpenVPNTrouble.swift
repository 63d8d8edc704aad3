package import ProviderProtocol

/// The reason why openvpn(8) has no connection, as a line of its log tells it.
package struct OpenVPNTrouble: Equatable, Sendable {
  package let code: Word
  package let text: String

  /// `nil` for lines that mean no trouble of their own.
  package init?(_ line: String) {
    func has(_ text: String) -> Bool { line.contains(text) }
    if has("VERIFY ERROR"), has("is not yet valid") {
      (code, text) = (
        "certificate-not-yet-valid", "the server's certificate is not valid yet by this machine's clock; check the clock: `timedatectl`"
      )
    } else if has("VERIFY ERROR"), has("has expired") {
      (code, text) = (
        "certificate-expired", "the server's certificate has expired by this machine's clock; check the clock, then the server"
      )
    } else if has("VERIFY ERROR") || has("VERIFY X509NAME ERROR") || has("VERIFY EKU ERROR") {
      (code, text) = (
        "server-untrusted", "the server's certificate is none that the file accepts (\(line)); check `ca` and `verify-x509-name`"
      )
    } else if has("RESOLVE: Cannot resolve host address") {
      (code, text) = ("unresolved", "the server's name cannot be resolved; check the name, and this network's name servers (\(line))")
    } else {
      return nil
    }
  }
}
