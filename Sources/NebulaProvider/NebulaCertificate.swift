internal import JSON
package import NetworkTypes

/// A host's certificate, as `nebula-cert print -json` prints it: one JSON object on each line.
package struct NebulaCertificate: Hashable, Sendable {
  package let name: String
  /// The host's addresses, with the length of their network.
  package let addresses: [InterfaceAddress]
  /// When it expires, as RFC 3339 writes it.
  package let notAfter: String

  /// The first certificate of a host, not of an authority.
  package init?(printed text: String) {
    for line in text.split(separator: "\n") {
      guard let details = (try? JSON(parsing: Array(line.utf8)))?["details"], details["isCa"]?.bool == false else { continue }
      let addresses = (details["ips"]?.array ?? []).prefix(16).compactMap { $0.string.flatMap { InterfaceAddress($0) } }
      if addresses.isEmpty { continue }
      self.init(name: details["name"]?.string ?? "", addresses: addresses, notAfter: details["notAfter"]?.string ?? "")
      return
    }
    return nil
  }

  private init(name: String, addresses: [InterfaceAddress], notAfter: String) {
    self.name = name
    self.addresses = addresses
    self.notAfter = notAfter
  }

  /// The certificates in a text, whatever indents them.
  package static func blocks(in text: String) -> String {
    var found: [Substring] = []
    var isInside = false
    for line in text.split(separator: "\n") {
      let trimmed = line.trimmingBlanks
      if trimmed == "-----BEGIN NEBULA CERTIFICATE-----" { isInside = true }
      if isInside { found.append(trimmed) }
      if trimmed == "-----END NEBULA CERTIFICATE-----" { isInside = false }
    }
    return found.map { "\($0)\n" }.joined()
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
