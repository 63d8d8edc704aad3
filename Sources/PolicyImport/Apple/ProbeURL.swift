import NetworkTypes
import RoamwardCore

enum ReadProbe: Hashable {
  case probe(Probe)
  /// Whatever the network, nothing answers there. Profiles are written so on purpose.
  case neverAnswers(because: String)
  case wrong(because: String)
}

/// Judges the URL of a probe: http or https, a host that can be reached, no credentials.
func readProbe(_ url: String) -> ReadProbe {
  guard let mark = url.range(ofText: "://") else { return .neverAnswers(because: "there is no http:// or https:// before it") }
  let scheme = url[..<mark.lowerBound].lowercased()
  guard scheme == "http" || scheme == "https" else { return .neverAnswers(because: "its scheme is neither http nor https") }
  let rest = url[mark.upperBound...]
  let authority = rest.prefix { !"/?#".contains($0) }
  if authority.contains("@") { return .wrong(because: "the URL holds a user name or password, which a policy must not") }
  guard url.utf8.count <= 2000, url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
    return .wrong(because: "the URL is too long, or holds characters that are not allowed in one")
  }
  let host = hostOf(authority)
  if host.isEmpty { return .neverAnswers(because: "it names no host") }
  if let address = IPAddress(host) {
    return address == .unspecified(address.family) ? .neverAnswers(because: "no host has this address") : .probe(Probe(url: url))
  }
  guard let name = DomainName(host) else { return .wrong(because: "the URL names no usable host") }
  // RFC 6761: no name below it ever exists.
  if name.text == "invalid" || name.text.hasSuffix(".invalid") { return .neverAnswers(because: "names under `invalid` never exist") }
  return .probe(Probe(url: url))
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
