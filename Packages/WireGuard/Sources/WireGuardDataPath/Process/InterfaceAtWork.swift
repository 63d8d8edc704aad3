internal import CWireGuardConfinement
internal import CWireGuardIO
internal import Glibc
package import LinuxIO
internal import ProcessConfinement
package import WireGuardControl

/// The unprivileged side of `InterfaceProcess`: takes the descriptors, drops every privilege, and runs until the interface ends.
package enum InterfaceAtWork {
  /// Runs until the interface ends. `cipher`: the library for transport messages; `nil`: the fastest.
  package static func run(offloads: Offloads, cipher: CipherLibrary?, isAttached: Bool) throws(SystemError) {
    let tun = try TunDevice(FileDescriptor(owning: InterfaceProcess.tun), wanting: offloads)
    let listener = FileDescriptor(owning: InterfaceProcess.listener)
    let folder = FileDescriptor(owning: InterfaceProcess.folder)
    let channel = FileDescriptor(owning: InterfaceProcess.channel)
    for descriptor in [tun.descriptor, listener, folder, channel] { _ = fcntl(descriptor.number, F_SETFD, FD_CLOEXEC) }
    let ciphers = CipherSelection(LoadedCiphers(only: cipher))
    try Confinement.giveUpPrivileges(becoming: InterfaceProcess.program)
    cwg_name_thread(pthread_self(), "roamward-wg")

    let loop = try DescriptorLoop()
    let interface = try WireGuardInterface(
      tun, wanting: offloads, configuredAt: listener, sockets: SocketSource(channel), ciphers: ciphers, on: loop)
    try ciphers.start()
    let file = "\(tun.name).sock"
    var sources = [
      try loop.whenReadable(folder.number) { if cwg_deletion_read(folder.number, file) != 0 { loop.stop() } },
      try loop.onSignal(SIGTERM) { loop.stop() },
    ]
    if isAttached {
      // Without requested events, epoll(7) still reports that the other end was closed.
      sources.append(try loop.whenReady(channel.number, events: 0) { _ in loop.stop() })
    }
    let result = cwg_confine()
    guard result == 0 else { throw SystemError(code: -result, operation: "confine system calls") }
    _ = try loop.run()
    withExtendedLifetime((interface, sources, folder)) {}
  }
}
