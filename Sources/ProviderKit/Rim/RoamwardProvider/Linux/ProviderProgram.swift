internal import Glibc
package import LinuxIO
internal import NetworkTypes
internal import ProviderProtocol

/// A provider as a program: descriptor 3 is the channel to the agent, epoll(7) is its loop.
public enum ProviderProgram {
  /// Runs a provider until the agent closes the channel. Call it from `main`, once; it needs no other setup.
  ///
  /// `program`: its name and version for the log, 256 bytes at most. Returns the code for exit(3): 0, or 1 with the reason on standard
  /// error.
  public static func run<Provider: TunnelProvider>(_ type: Provider.Type, program: String) -> Int32 {
    do {
      guard fcntl(ProtocolLimits.descriptor, F_GETFD) >= 0 else {
        throw SystemError(code: EBADF, operation: "this is a provider: the agent starts it, with a channel as descriptor 3")
      }
      let backend = try ChannelBackend(FileDescriptor(owning: ProtocolLimits.descriptor))
      let host = ProviderHost(backend: backend)
      backend.host = host
      let provider = host.begin(type, program: program)
      return try withExtendedLifetime((host, provider)) { try backend.run() }
    } catch {
      complain("\(error)")
      return 1
    }
  }

  static func complain(_ text: String) {
    let line = Array("\(escaped(text))\n".utf8)
    _ = try? FileDescriptor(owning: dup(2)).write(line[...])
  }
}

extension ProviderHost {
  /// The loop of the program, for providers that watch descriptors and processes of their own; `nil` in a test in memory.
  package var loop: DescriptorLoop? { (backend as? ChannelBackend)?.loop }
}
