import Testing

@Suite("The service manager", .needsLab)
struct ServiceManagerTests {
  @Test("hears that the agent is ready, what is up, that it reads again, that it lives and that it stops")
  func notifications() throws {
    let scene = try Scene()
    // It is read all the while: the kernel keeps ten messages for a socket and drops the rest, and in two seconds the watchdog's are ten.
    try scene.run(
      """
      perl -MSocket -e '$| = 1; socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die; bind($s, pack_sockaddr_un($ARGV[0])) or die;
        while (defined recv($s, my $m, 65536, 0)) { print "$m\\n" }' $scene/notify >heard &
      within 5 test -S notify
      """)
    var taken = 0
    func heard() -> [String] {
      let lines = scene.read("heard").lines
      defer { taken = lines.count }
      return lines.dropFirst(taken).filter { $0 != "WATCHDOG=1" }
    }
    /// A function of bash: whether the last message, without those for the watchdog, is this one.
    let words = "last_word() { [[ $(grep -v '^WATCHDOG' heard | tail -n 1) == \"$1\" ]]; }\n"

    try scene.run(
      words + "go home; NOTIFY_SOCKET=$scene/notify WATCHDOG_USEC=400000 start_agent; within 5 last_word 'STATUS=no tunnel is up'")
    #expect(heard().starts(with: ["READY=1", "STATUS=no tunnel is up"]))
    try scene.run("go cafe; tunnel_is corp connected; within 5 grep -qx 'STATUS=up: corp' heard; sleep 0.3")
    #expect(heard().contains("STATUS=up: corp"))
    try scene.run("kill -HUP $(agent_pid); within 5 eval '(( $(grep -cx READY=1 heard) == 2 ))'; sleep 0.3")
    let again = heard()
    #expect(again.first == "RELOADING=1")
    #expect(again.dropFirst().first?.hasPrefix("MONOTONIC_USEC=") == true)
    #expect(again.contains("READY=1"))
    try scene.run(words + "stop_agent; within 5 last_word 'STATUS=no tunnel is up'")
    let end = heard()
    #expect(end.first == "STOPPING=1")
    #expect(end.last == "STATUS=no tunnel is up")
    #expect(scene.read("heard").lines.count { $0 == "WATCHDOG=1" } > 3)
  }
}
