internal import JSON
package import NetworkTypes

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

  /// The first certificate of a host among these blocks, which were printed in their order.
  package init?(printed text: String, of blocks: [String]) {
    var (host, authorities): ((details: JSON, text: String)?, String) = (nil, "")
    for (line, block) in zip(text.split(separator: "\n"), blocks) {
      guard let details = (try? JSON(parsing: Array(line.utf8)))?["details"] else { continue }
      if details["isCa"]?.bool == true { authorities += block } else if host == nil { host = (details, block) }
    }
    guard let host else { return nil }
    addresses = (host.details["ips"]?.array ?? []).prefix(16).compactMap { $0.string.flatMap { InterfaceAddress($0) } }
    if addresses.isEmpty { return nil }
    name = host.details["name"]?.string ?? ""
    notAfter = host.details["notAfter"]?.string ?? ""
    self.text = host.text
    self.authorities = authorities
  }

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

extension Substring {
  var trimmingBlanks: Substring {
    var text = self
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" || last == "\r" { text.removeLast() }
    return text
  }
}
