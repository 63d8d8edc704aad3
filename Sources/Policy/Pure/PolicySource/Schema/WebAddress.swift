import NetworkTypes

/// An http or https URL in normal form: scheme and host in lower case, and at least `/` as path.
///
/// `nil` for anything else: other schemes, no host, credentials, fragments, characters that have to be percent-encoded (RFC 3986 section
/// 2), and more than 1,000 bytes.
func webAddress(_ text: String) -> String? {
  guard text.utf8.count <= 1000, let colon = text.firstIndex(of: ":") else { return nil }
  let scheme = text[..<colon].lowercased()
  let rest = text[text.index(after: colon)...]
  guard scheme == "http" || scheme == "https", rest.hasPrefix("//"), rest.utf8.allSatisfy(isURLCharacter) else { return nil }
  let behind = rest.dropFirst(2)
  let end = behind.firstIndex { $0 == "/" || $0 == "?" } ?? behind.endIndex
  let authority = behind[..<end].lowercased()
  guard isHostAndPort(authority) else { return nil }
  let path = behind[end...]
  return "\(scheme)://\(authority)\(path.hasPrefix("/") ? "" : "/")\(path)"
}

/// True if a policy may contain this URL.
package func isWebAddress(_ text: String) -> Bool { webAddress(text) != nil }

/// True if a URL contains a user name or password: such a URL must not be quoted in messages.
func holdsUserInformation(_ text: String) -> Bool {
  guard let slashes = text.firstRange(of: "://") else { return false }
  return text[slashes.upperBound...].prefix { $0 != "/" && $0 != "?" }.contains("@")
}

private func isURLCharacter(_ c: UInt8) -> Bool { c > 0x20 && c < 0x7f && !"\"<>\\^`{|}#".utf8.contains(c) }

/// True for a name, an IPv4 address or an IPv6 address in brackets, with or without a port from 1.
private func isHostAndPort(_ text: String) -> Bool {
  var host = text[...]
  if let bracket = text.lastIndex(of: "]") {
    guard text.hasPrefix("["), IPAddress(String(text[text.index(after: text.startIndex)..<bracket])) != nil else { return false }
    let port = text[text.index(after: bracket)...]
    return port.isEmpty || port.hasPrefix(":") && isPort(port.dropFirst())
  }
  if let colon = text.lastIndex(of: ":") {
    guard isPort(text[text.index(after: colon)...]) else { return false }
    host = text[..<colon]
  }
  return DomainName(String(host)) != nil
}

private func isPort(_ text: Substring) -> Bool { decimal(String(text)).map { (1...65535).contains($0) } ?? false }

extension ValueReader where Value == String {
  static let webAddress = ValueReader(
    expected: "an http:// or https:// URL with a host", schema: .definition("url")
  ) { node, reading in
    guard case .scalar(let text, _) = node.content else {
      reading.expected("an http:// or https:// URL with a host", at: node)
      return nil
    }
    if let address = PolicySource.webAddress(text) { return address }
    if holdsUserInformation(text) {
      reading.error(
        "a URL in a policy never holds a name or a password", help: "remove what stands before the `@`; a policy may be read by everyone",
        at: node.location)
    } else {
      reading.expected(
        "an http:// or https:// URL with a host", at: node,
        help: "for example https://beacon.corp.example/; other than plain characters are percent-encoded, and there is no `#`")
    }
    return nil
  }
}
