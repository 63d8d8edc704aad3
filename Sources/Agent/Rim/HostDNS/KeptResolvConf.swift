internal import LinuxIO

/// The original resolv.conf from before ours, or its absence: stored exactly, to be restored.
///
/// One file holds all of it, so that it is complete or missing. It has a title line with a checksum of the rest, a line with the file's
/// attributes, then its bytes.
enum KeptResolvConf: Equatable {
  case absent
  case file(bytes: [UInt8], ResolvConfPlace.PlainFile)

  private static let title = "roamward kept resolv.conf, version 2 crc32 "
  /// The title of version 0.1, which had no checksum.
  private static let oldTitle = "roamward kept resolv.conf, version 1"

  var encoded: [UInt8] {
    let body =
      switch self {
      case .absent: Array("absent\n".utf8)
      case .file(let bytes, let file):
        Array("mode \(String(file.mode, radix: 8)) user \(file.user) group \(file.group)\n".utf8) + bytes
      }
    return Array((Self.title + Checksum.text(of: body) + "\n").utf8) + body
  }

  /// `nil` if this type never wrote it.
  init?(_ encoded: [UInt8]) {
    guard let end = encoded.firstIndex(of: 10) else { return nil }
    let (first, body) = (String(decoding: encoded[..<end], as: UTF8.self), encoded[(end + 1)...])
    guard first == Self.title + Checksum.text(of: body) || first == Self.oldTitle, let lineEnd = body.firstIndex(of: 10) else { return nil }
    let words = String(decoding: body[..<lineEnd], as: UTF8.self).split(separator: " ")
    if words == ["absent"] {
      self = .absent
    } else if words.count == 6, let mode = UInt32(words[1], radix: 8), let user = UInt32(words[3]), let group = UInt32(words[5]) {
      self = .file(bytes: Array(body[(lineEnd + 1)...]), ResolvConfPlace.PlainFile(mode: mode, user: user, group: group))
    } else {
      return nil
    }
  }
}
