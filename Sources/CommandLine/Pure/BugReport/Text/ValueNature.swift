/// The kind of a sensitive value, by its name.
enum ValueNature {
  case secret
  /// The name of a Wi-Fi network.
  case network
  /// A host, a domain or a URL.
  case host

  /// `name`: letters in lower case.
  init?(ofName name: String) {
    if Self.publicNames.contains(name) {
      return nil
    } else if Self.secretParts.contains(where: name.contains) || Self.secretEnds.contains(where: name.hasSuffix)
      || Self.secretNames.contains(name)
    {
      self = .secret
    } else if name == "ssid" || name == "ssids" {
      self = .network
    } else if Self.hosts.contains(name) {
      self = .host
    } else {
      return nil
    }
  }

  private static let secretParts = [
    "privatekey", "presharedkey", "psk", "password", "passwd", "passphrase", "secret", "token", "apikey", "cookie", "authorization",
    "credential", "bearer", "webvpn", "preup", "postup", "predown", "postdown", "authkey", "setupkey",
    "sessid", "sessionid", "mrhsession", "passcode", "otp", "wepkey",
  ]
  private static let secretEnds = ["pass", "pwd", "pw", "key"]
  private static let secretNames: Set<String> = ["p", "pin", "mfa", "dsid", "privkey", "auth", "sid"]
  /// Names that end like those of secrets.
  private static let publicNames: Set<String> = ["key", "publickey", "pubkey", "hostkey", "peerkey", "otherkey"]
  private static let hosts: Set<String> = [
    "endpoint", "endpoints", "gateway", "gateways", "remote", "server", "servers", "host", "hosts", "hostname", "url", "pac", "domain",
    "domains", "searchdomains", "matchdomains", "searchdomain", "names", "name", "refused", "search", "probe", "accesspoint",
  ]
}
