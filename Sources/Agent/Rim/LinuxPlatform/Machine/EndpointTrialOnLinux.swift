internal import AgentCore
internal import Glibc
internal import HostDNS
internal import KernelModel
internal import LinuxIO
internal import NetworkTypes

extension EndpointTrial {
  /// Past every tunnel. `nil`: this process may make no such socket.
  init?(to address: IPAddress, _ port: UInt16, mark: UInt32) {
    guard let datagrams = try? MarkedDatagrams(address.family, mark: mark) else { return nil }
    func obstacle(_ body: () throws(SystemError) -> Void) -> SendObstacle? {
      do throws(SystemError) {
        try body()
        return nil
      } catch {
        return SendObstacle(errno: error.code)
      }
    }
    self.init(obstacle { () throws(SystemError) in try datagrams.aim(at: address, port: port) }) {
      obstacle { () throws(SystemError) in
        try datagrams.aim(at: address, port: port)
        try datagrams.send([0, 0, 0, 0])
      }
    }
  }
}

extension SendObstacle {
  /// `nil`: the error says nothing of the endpoint.
  fileprivate init?(errno code: Int32) {
    switch code {
    case ENETUNREACH: self = .noRoute
    case EHOSTUNREACH: self = .unreachable
    case EACCES: self = .prohibited
    case EINVAL: self = .discarded
    case EPERM: self = .filtered
    case ECONNREFUSED: self = .refused
    default: return nil
    }
  }
}

extension PortHolder {
  /// The program that has a UDP port of this network namespace; `nil`: it is free, or one of our own engines has it.
  init?(of port: UInt16) {
    guard let owner = ownerOfDatagrams(at: port, isOwn: { $0 & Ownership.markMask == Ownership.mark }) else { return nil }
    self.init(port: port, holder: owner)
  }
}
