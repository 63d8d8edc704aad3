import Testing

@testable import LinuxIO

@Suite("The places of our own programs") struct ProgramPathTests {
  @Test(
    "helpers are in libexec of the same prefix, and beside the running program where they are built",
    arguments: [
      ("/usr/sbin", "/usr/libexec/roamward/p", "/usr/sbin/p"), ("/usr/bin", "/usr/libexec/roamward/p", "/usr/sbin/p"),
      ("/usr/local/sbin", "/usr/local/libexec/roamward/p", "/usr/local/sbin/p"),
      // A provider starts the engine.
      ("/usr/libexec/roamward", "/usr/libexec/roamward/p", "/usr/sbin/p"),
      // The copy of an earlier version (packaging/previous).
      ("/var/lib/roamward/previous/sbin", "/var/lib/roamward/previous/libexec/roamward/p", "/var/lib/roamward/previous/sbin/p"),
      ("/home/me/.build/debug", "/home/me/.build/libexec/roamward/p", "/home/me/.build/sbin/p"),
    ])
  func places(folder: String, first: String, last: String) {
    #expect(placesOfOwnProgram("p", from: folder) == [first, "\(folder)/p", last])
  }
}
