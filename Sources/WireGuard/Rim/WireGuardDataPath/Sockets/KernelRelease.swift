internal import Glibc

/// The running kernel's version, for the one bug that cannot be probed.
struct KernelRelease: Comparable {
  let major: Int
  let minor: Int
  let patch: Int

  /// Parses text such as `6.1.0-44-amd64`; missing numbers count as 0.
  init(_ text: String) {
    let numbers = text.prefix { $0.isNumber || $0 == "." }.split(separator: ".").map { Int($0) ?? 0 }
    major = numbers.first ?? 0
    minor = numbers.count > 1 ? numbers[1] : 0
    patch = numbers.count > 2 ? numbers[2] : 0
  }

  init(_ major: Int, _ minor: Int, _ patch: Int) {
    self.major = major
    self.minor = minor
    self.patch = patch
  }

  static let current: KernelRelease = {
    var name = utsname()
    guard uname(&name) == 0 else { return KernelRelease(0, 0, 0) }
    return KernelRelease(withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
  }()

  /// Linux 7.0 to 7.1.4 corrupt the output of UDP_SEGMENT if all segments have the same length.
  var manglesEqualSegments: Bool { self >= KernelRelease(7, 0, 0) && self <= KernelRelease(7, 1, 4) }

  static func < (a: Self, b: Self) -> Bool { (a.major, a.minor, a.patch) < (b.major, b.minor, b.patch) }
}
