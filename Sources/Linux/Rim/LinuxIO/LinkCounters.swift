/// The packets that a link of this network namespace has received and sent (/proc/net/dev); `nil`: there is no such link.
package func packetsCarried(by link: String) -> (received: UInt64, sent: UInt64)? {
  guard let text = try? TextFile.read("/proc/net/dev", limit: 1 << 22) else { return nil }
  for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
    guard let colon = line.firstIndex(of: ":"), line[..<colon].drop(while: { $0 == " " }) == link else { continue }
    // Bytes and packets, and six more, first of what was received, then of what was sent.
    let numbers = line[line.index(after: colon)...].split(separator: " ").map { UInt64($0) ?? 0 }
    return numbers.count > 9 ? (numbers[1], numbers[9]) : nil
  }
  return nil
}
