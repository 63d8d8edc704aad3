internal import JSON
package import NetworkTypes
package import ProviderProtocol

/// A host's certificate, and the authorities beside it, as `nebula-cert print -json` prints them: one JSON object on each line.
package struct NebulaCertificate: Equatable, Sendable {
  package let name: String
  /// The host's addresses, with the length of their network.
  package let addresses: [InterfaceAddress]
  /// When it expires, as RFC 3339 writes it.
  package let notAfter: String
  /// The certificate itself, in PEM.
  package let text: String
  /// Certificates of authorities, in PEM.
  package let authorities: String
  /// From when to when the host's certificate is valid, and those of authorities.
  package let validities: [Validity]

  /// The first certificate of a host among these blocks, which were printed in their order.
  package init?(printed text: String, of blocks: [String]) {
    var (host, authorities): ((details: JSON, text: String)?, String) = (nil, "")
    var validities: [Validity] = []
    for (line, block) in zip(text.split(separator: "\n"), blocks) {
      guard let details = (try? JSON(parsing: Array(line.utf8)))?["details"] else { continue }
      let isAuthority = details["isCa"]?.bool == true
      if let validity = Self.validity(details, isAuthority: isAuthority) { validities.append(validity) }
      if isAuthority { authorities += block } else if host == nil { host = (details, block) }
    }
    guard let host else { return nil }
    addresses = (host.details["ips"]?.array ?? []).prefix(16).compactMap { $0.string.flatMap { InterfaceAddress($0) } }
    if addresses.isEmpty { return nil }
    name = host.details["name"]?.string ?? ""
    notAfter = host.details["notAfter"]?.string ?? ""
    self.text = host.text
    self.authorities = authorities
    self.validities = validities
  }

  private static func validity(_ details: JSON, isAuthority: Bool) -> Validity? {
    guard let end = details["notAfter"]?.string.flatMap(Self.seconds) else { return nil }
    // The protocol takes 256 bytes.
    let name = String(decoding: (details["name"]?.string ?? "").utf8.prefix(200), as: UTF8.self)
    let start = details["notBefore"]?.string.flatMap(Self.seconds)
    return Validity("the \(isAuthority ? "authority" : "certificate") \(name)", from: start, until: end)
  }

  /// Seconds since 1970 of a moment as RFC 3339 writes it: `2027-01-01T00:00:00Z`, `2027-01-01T01:00:00+01:00`.
  package static func seconds(_ text: String) -> Int64? {
    guard text.utf8.count >= 20, let clock = Timestamp("\(text.prefix(19)).000Z") else { return nil }
    let rest = text.dropFirst(19).drop { $0 == "." || $0.isASCIIDigit }
    if rest == "Z" { return inRange(clock.seconds) }
    let parts = rest.dropFirst().split(separator: ":").map { Int64($0) }
    guard let sign = rest.first, "+-".contains(sign), parts.count == 2, let hours = parts[0], let minutes = parts[1],
      (0..<24).contains(hours), (0..<60).contains(minutes)
    else { return nil }
    return inRange(clock.seconds - (sign == "+" ? 1 : -1) * (hours * 3600 + minutes * 60))
  }

  private static func inRange(_ seconds: Int64) -> Int64? { (0...Validity.latest).contains(seconds) ? seconds : nil }

  /// The certificates in a text, whatever indents them.
  package static func blocks(in text: String) -> [String] {
    var found: [String] = []
    var isInside = false
    for line in text.split(separator: "\n") {
      let trimmed = line.trimmingBlanks
      if trimmed == "-----BEGIN NEBULA CERTIFICATE-----" {
        isInside = true
        found.append("")
      }
      if isInside { found[found.count - 1] += "\(trimmed)\n" }
      if trimmed == "-----END NEBULA CERTIFICATE-----" { isInside = false }
    }
    return found
  }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}

extension Substring {
  var trimmingBlanks: Substring {
    var text = self
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" || last == "\r" { text.removeLast() }
    return text
  }
}
