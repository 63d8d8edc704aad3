package import NetworkTypes

/// hosts(5): names with addresses that no name server is asked for.
package struct HostsFile: Hashable, Sendable {
  private var addresses: [String: [IPAddress]] = [:]

  /// Lines that are none are left out.
  package init(_ text: String) {
    for line in text.split(separator: "\n") {
      let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
      guard let address = words.first.flatMap({ IPAddress(String($0)) }) else { continue }
      for name in words.dropFirst() { addresses[name.lowercased(), default: []].append(address) }
    }
  }

  package subscript(name: DomainName) -> [IPAddress] { addresses[name.text] ?? [] }
}
