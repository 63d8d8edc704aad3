/// The resolv.conf that stood there before ours, or that there was none: exactly, to be put back.
///
/// One file holds all of it, so that it is there whole or not at all: a line of what this is, a line of how the file was, then its bytes.
enum KeptResolvConf: Hashable {
  case absent
  case file(bytes: [UInt8], ResolvConfPlace.PlainFile)

  private static let title = "roamward kept resolv.conf, version 1"

  var encoded: [UInt8] {
    switch self {
    case .absent: Array("\(Self.title)\nabsent\n".utf8)
    case .file(let bytes, let file):
      Array("\(Self.title)\nmode \(String(file.mode, radix: 8)) user \(file.user) group \(file.group)\n".utf8) + bytes
    }
  }

  /// `nil` for what this never wrote.
  init?(_ encoded: [UInt8]) {
    let parts = encoded.split(separator: 10, maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, String(decoding: parts[0], as: UTF8.self) == Self.title else { return nil }
    let words = String(decoding: parts[1], as: UTF8.self).split(separator: " ")
    if words == ["absent"] {
      self = .absent
    } else if words.count == 6, let mode = UInt32(words[1], radix: 8), let user = UInt32(words[3]), let group = UInt32(words[5]) {
      self = .file(bytes: Array(parts[2]), ResolvConfPlace.PlainFile(mode: mode, user: user, group: group))
    } else {
      return nil
    }
  }
}
