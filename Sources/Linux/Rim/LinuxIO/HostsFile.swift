package import NetworkTypes

/// The machine's own list of names (hosts(5)).
package enum HostsFile {
  package static let path = "/etc/hosts"

  /// The addresses of a name in a text of this format, in its order, without duplicates.
  package static func addresses(of name: DomainName, in text: some Collection<UInt8>) -> [IPAddress] {
    var found: [IPAddress] = []
    let wanted = Array(name.text.utf8)
    for line in text.split(whereSeparator: { $0 == UInt8(ascii: "\n") }) {
      let words = line.prefix { $0 != UInt8(ascii: "#") }.split {
        $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r")
      }
      guard let first = words.first, words.dropFirst().contains(where: { matches($0, wanted) }),
        let address = IPAddress(String(decoding: first, as: UTF8.self)), !found.contains(address)
      else { continue }
      found.append(address)
    }
    return found
  }

  /// Compares without regard to letter case and a trailing dot.
  private static func matches(_ word: some Collection<UInt8>, _ name: [UInt8]) -> Bool {
    guard word.count == name.count || word.count == name.count + 1 else { return false }
    let isSame = zip(word, name).allSatisfy { ((65...90).contains($0) ? $0 | 0x20 : $0) == $1 }
    return isSame && (word.count == name.count || word.dropFirst(name.count).first == UInt8(ascii: "."))
  }
}
