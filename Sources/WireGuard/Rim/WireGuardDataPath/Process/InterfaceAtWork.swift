internal import CWireGuardIO
internal import Glibc
package import LinuxIO
internal import ProcessConfinement
package import WireGuardControl

/// The unprivileged side of `InterfaceProcess`: takes the descriptors, drops every privilege, and runs until the interface ends.
package enum InterfaceAtWork {
  /// Runs until the interface ends. `cipher`: the library for transport messages; `nil`: the fastest. `pairs`: as many as the device has
  /// queues.
  package static func run(offloads: Offloads, cipher: CipherLibrary?, pairs: Int, isAttached: Bool) throws(SystemError) {
    cwg_use_one_arena()
    let further = InterfaceProcess.queues..<InterfaceProcess.queues + Int32(pairs - 1)
    let queues = ([InterfaceProcess.tun] + further).map { inherited($0) }
    let listener = inherited(InterfaceProcess.listener)
    let folder = inherited(InterfaceProcess.folder)
    let channel = inherited(InterfaceProcess.channel)
    let ciphers = CipherSelection(LoadedCiphers(only: cipher))
    try Confinement.giveUpPrivileges(becoming: InterfaceProcess.program)
    let loop = try DescriptorLoop()
    try work(try TunDevice(queues, wanting: offloads), offloads, listener, folder, channel, ciphers, loop, isAttached: isAttached)
  }

  /// The unprivileged side of `StandbyProcess`: does everything that needs no interface, waits for one, and runs until it ends. Returns at
  /// once if none is wanted any more.
  package static func standBy(offloads: Offloads, pairs number: Int, isAttached: Bool) throws(SystemError) {
    cwg_use_one_arena()
    let channel = inherited(InterfaceProcess.channel)
    let ciphers = CipherSelection(LoadedCiphers())
    try Confinement.giveUpPrivileges(becoming: InterfaceProcess.program)
    let loop = try DescriptorLoop()
    let pairs = (0..<number).map { DataPath.threadNames($0) }
    let ready = try ReadyThreads(pairs.flatMap { [$0.outbound, $0.inbound] } + (ciphers.needsThread ? [CipherSelection.threadName] : []))
    try check(cwg_prepare_confinement())
    WarmUp.run()
    guard let taken = try TakenInterface(from: channel) else { return }
    let tun = try TunDevice(taken.queues, wanting: offloads)
    taken.takeTitle(of: tun.name, offloads: offloads)
    try work(tun, offloads, taken.listener, taken.folder, channel, ciphers, loop, ready, isAttached: isAttached)
  }

  private static func inherited(_ number: Int32) -> FileDescriptor {
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    return FileDescriptor(owning: number)
  }

  private static func work(
    _ tun: TunDevice, _ offloads: Offloads, _ listener: FileDescriptor, _ folder: FileDescriptor, _ channel: FileDescriptor,
    _ ciphers: CipherSelection, _ loop: DescriptorLoop, _ ready: ReadyThreads = ReadyThreads(), isAttached: Bool
  ) throws(SystemError) {
    cwg_name_thread(pthread_self(), "roamward-wg")
    let interface = try WireGuardInterface(
      tun, wanting: offloads, configuredAt: listener, sockets: SocketSource(channel), ciphers: ciphers, on: loop, ready)
    try ciphers.start(on: ready)
    let file = "\(tun.name).sock"
    var sources = [
      try loop.whenReadable(folder.number) { if cwg_deletion_read(folder.number, file) != 0 { loop.stop() } },
      try loop.onSignal(SIGTERM) { loop.stop() },
    ]
    if isAttached {
      // Without requested events, epoll(7) still reports that the other end was closed.
      sources.append(try loop.whenReady(channel.number, events: 0) { _ in loop.stop() })
    }
    try check(cwg_confine())
    _ = try loop.run()
    withExtendedLifetime((interface, sources, folder)) {}
  }

  private static func check(_ result: Int32) throws(SystemError) {
    guard result == 0 else { throw SystemError(code: -result, operation: "confine system calls") }
  }
}
