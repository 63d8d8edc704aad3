import NetworkTypes
import PolicySource
import RoamwardCore

enum ReadProbe: Equatable {
  /// `note`: the change to the URL, for the report.
  case probe(Probe, note: String?)
  /// No server ever answers at this URL, on any network. Profiles contain such URLs on purpose.
  case neverAnswers(reason: String)
  case wrong(reason: String)
}

/// Checks the URL of a probe: http or https, a reachable host, no credentials.
func readProbe(_ text: String) -> ReadProbe {
  // The part behind a `#` is never sent (RFC 9110, 4.2.5).
  let url = String(text.prefix { $0 != "#" })
  guard let mark = url.range(ofText: "://") else { return .neverAnswers(reason: "there is no http:// or https:// before it") }
  let scheme = url[..<mark.lowerBound].lowercased()
  guard scheme == "http" || scheme == "https" else { return .neverAnswers(reason: "its scheme is neither http nor https") }
  let rest = url[mark.upperBound...]
  let authority = rest.prefix { !"/?#".contains($0) }
  if authority.contains("@") { return .wrong(reason: "the URL holds a user name or password, which a policy must not") }
  guard url.utf8.count <= 2000, url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
    return .wrong(reason: "the URL is too long, or holds characters that are not allowed in one")
  }
  let host = hostOf(authority)
  if host.isEmpty { return .neverAnswers(reason: "it names no host") }
  if let address = IPAddress(host) {
    return address == .unspecified(address.family) ? .neverAnswers(reason: "no host has this address") : usable(url, of: text)
  }
  guard let name = DomainName(host) else { return .wrong(reason: "the URL names no usable host") }
  // RFC 6761: no name below it ever exists.
  if name.text == "invalid" || name.text.hasSuffix(".invalid") { return .neverAnswers(reason: "names under `invalid` never exist") }
  return usable(url, of: text)
}

private func usable(_ url: String, of text: String) -> ReadProbe {
  guard isWebAddress(url) else { return .wrong(reason: "the URL holds characters that have to be percent-encoded, or is too long") }
  return .probe(Probe(url: url), note: url == text ? nil : "without what is behind the `#`, which is never sent")
}

private func hostOf(_ authority: Substring) -> String {
  if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
  return String(authority.prefix { $0 != ":" })
}

extension String {
  func range(ofText needle: String) -> Range<String.Index>? {
    var place = startIndex
    while place < endIndex {
      if self[place...].hasPrefix(needle) { return place..<(index(place, offsetBy: needle.count)) }
      place = index(after: place)
    }
    return nil
  }
}
