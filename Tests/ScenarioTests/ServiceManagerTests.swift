import Testing

@Suite("The service manager", .needsLab)
struct ServiceManagerTests {
  @Test("hears that the agent is ready, what is up, that it reads again, that it lives and that it stops")
  func notifications() throws {
    let scene = try Scene()
    // It is read all the while: the kernel keeps ten messages for a socket and drops the rest, and in two seconds the watchdog's are ten.
    try scene.play("ServiceManager/notifications")
    var taken = 0
    func heard() -> [String] {
      let lines = scene.read("heard").lines
      defer { taken = lines.count }
      return lines.dropFirst(taken).filter { $0 != "WATCHDOG=1" }
    }
    try scene.play("ServiceManager/heard")
    #expect(heard().starts(with: ["READY=1", "STATUS=no tunnel is up"]))
    try scene.play("ServiceManager/heard-2")
    #expect(heard().contains("STATUS=up: corp"))
    try scene.play("ServiceManager/heard-3")
    let again = heard()
    #expect(again.first == "RELOADING=1")
    #expect(again.dropFirst().first?.hasPrefix("MONOTONIC_USEC=") == true)
    #expect(again.contains("READY=1"))
    try scene.play("ServiceManager/heard-4")
    let end = heard()
    #expect(end.first == "STOPPING=1")
    #expect(end.last == "STATUS=no tunnel is up")
    #expect(scene.read("heard").lines.count { $0 == "WATCHDOG=1" } > 3)
  }
}
