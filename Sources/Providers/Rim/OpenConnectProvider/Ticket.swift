/// The output of `openconnect --authenticate` when a server has let a person in: shell assignments, one on each line, some in single
/// quotes.
///
/// Source: openconnect(8), "--authenticate".
package struct Ticket: Equatable, Sendable {
  /// The session cookie: it proves to the server that this person has signed in. A secret.
  package private(set) var cookie = ""
  /// The server's certificate, as `--servercert` takes it.
  package private(set) var fingerprint = ""
  /// The server and its address, as `--resolve` takes them.
  package private(set) var resolve = ""
  private var url = ""
  private var host = ""

  package init() {}

  /// The ticket of an earlier run, as `kept(for:)` has written it; `nil`: there is none for this sign-in.
  package init?(kept: [UInt8]?, for sign: String) {
    guard let kept, String(validating: kept, as: UTF8.self) != nil else { return nil }
    let lines = kept.split(separator: UInt8(ascii: "\n"))
    guard let first = lines.first, first.elementsEqual(sign.utf8) else { return nil }
    for line in lines.dropFirst() { take(String(decoding: line, as: UTF8.self)[...]) }
    // Its server may have another address by now. The certificate is the same.
    resolve = ""
    if !isComplete { return nil }
  }

  /// The ticket for a later run of the same sign-in, which is one line.
  package func kept(for sign: String) -> [UInt8] {
    Array("\(sign)\nCOOKIE=\(cookie)\nHOST=\(host)\nCONNECT_URL=\(url)\nFINGERPRINT=\(fingerprint)\n".utf8)
  }

  /// The server to connect to, as a URL or a host.
  package var server: String { url.isEmpty ? host : url }

  /// Whether it is enough to connect with.
  package var isComplete: Bool { !cookie.isEmpty && !fingerprint.isEmpty && !server.isEmpty }

  /// Takes a line; others than these assignments mean nothing.
  package mutating func take(_ line: Substring) {
    guard let equals = line.firstIndex(of: "=") else { return }
    var value = line[line.index(after: equals)...]
    if value.count >= 2, value.first == "'", value.last == "'" { value = value.dropFirst().dropLast() }
    // Each becomes one argument or one line.
    guard !value.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) else { return }
    switch line[..<equals] {
    case "COOKIE": cookie = String(value)
    case "HOST": host = String(value)
    case "CONNECT_URL": url = String(value)
    case "FINGERPRINT": fingerprint = String(value)
    case "RESOLVE": resolve = String(value)
    default: break
    }
  }
}
