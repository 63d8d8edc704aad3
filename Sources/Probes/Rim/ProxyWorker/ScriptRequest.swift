/// A request for the script by HTTP/1 (RFC 9112): GET alone, for one path, with the literal address as its host. A page that a browser has
/// loaded elsewhere cannot ask by a name of its own that leads here.
package enum ScriptRequest {
  /// The most bytes of a request line and its fields.
  package static let longestHead = 8192
  package static let path = "/proxy.pac"

  /// The whole answer to the bytes of a connection; `nil`: the request is not complete. `address`: the one that it is served at,
  /// with its port.
  package static func answer(to bytes: [UInt8], at address: String, with script: [UInt8]) -> [UInt8]? {
    guard let end = endOfHead(in: bytes) else { return bytes.count > longestHead ? answer("431 Request Header Fields Too Large") : nil }
    if end > longestHead { return answer("431 Request Header Fields Too Large") }
    let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
    let words = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return answer("400 Bad Request") }
    guard words[0] == "GET" else { return answer("405 Method Not Allowed", fields: ["Allow: GET"]) }
    let hosts = lines.dropFirst().compactMap { line -> String? in
      guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == "host" else { return nil }
      return trimmed(line[line.index(after: colon)...])
    }
    guard hosts.count == 1, hosts[0] == address else { return answer("403 Forbidden") }
    guard words[1] == path else { return answer("404 Not Found") }
    return answer("200 OK", fields: ["Content-Type: application/x-ns-proxy-autoconfig"], body: script)
  }

  private static func trimmed(_ text: Substring) -> String {
    let isBlank = { (character: Character) in character == " " || character == "\t" }
    var rest = text.drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return String(rest)
  }

  /// The place of the empty line that ends the head.
  private static func endOfHead(in bytes: [UInt8]) -> Int? {
    var place = 0
    while place + 4 <= bytes.count {
      if bytes[place] == 13, bytes[place + 1] == 10, bytes[place + 2] == 13, bytes[place + 3] == 10 { return place }
      place += 1
    }
    return nil
  }

  private static func answer(_ status: String, fields: [String] = [], body: [UInt8] = []) -> [UInt8] {
    let usual = ["Content-Length: \(body.count)", "Cache-Control: no-cache", "X-Content-Type-Options: nosniff", "Connection: close"]
    return Array((["HTTP/1.1 \(status)"] + fields + usual + ["", ""]).joined(separator: "\r\n").utf8) + body
  }
}
