import GatewayCore
import GatewayPage
import KernelModel
import NetworkTypes
import PageProtocol
import TestKit
import Testing

func name(_ text: String) throws -> GatewayName { try #require(GatewayName(text)) }
func path(_ text: String) throws -> DevicePath { try #require(DevicePath(text)) }
func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }
func key(_ number: UInt8) throws -> WireGuardKey { try #require(WireGuardKey(bytes: [number] + [UInt8](repeating: 7, count: 31))) }

let now: Timestamp = 1_000_000

/// Alice with two devices, an administrator; Bob with one. Addresses ascend from 10.77.0.2.
func sample() throws -> Administration {
  var work = Administration(Directory(), lastID: 0, actor: "root", now: now)
  work.setSite(
    try #require(Endpoint("192.0.2.1:51820")), publicKey: try key(1), link: try #require(InterfaceName("wg-gateway")))
  try work.addPool(try name("lan"), try #require(IPPrefix("10.77.0.0/24")), isTranslated: false)
  try work.addPool(try name("lan6"), try #require(IPPrefix("fd77::/64")), isTranslated: false)
  for user in ["alice", "bob"] { try work.addUser(try name(user)) }
  try work.addGroup(try name("admins"))
  try work.setMember(true, try name("alice"), of: try name("admins"))
  try work.addDevice(try path("alice/laptop"), publicKey: try key(2))
  try work.addDevice(try path("alice/phone"), publicKey: try key(3))
  try work.addDevice(try path("bob/laptop"), publicKey: try key(4))
  return work
}

extension Directory {
  func asker(
    _ text: String, administrators: String? = "admins", operators: String? = nil, at time: Timestamp = now
  ) throws -> PageAsker? {
    let settings = PageSettings(
      administrators: administrators.flatMap { GatewayName($0) }, operators: operators.flatMap { GatewayName($0) })
    return PageAsker(self, from: try address(text), settings, at: time)
  }
}

extension Administration {
  /// Has a file declare these users, at a line each.
  mutating func declare(_ users: [GatewayName]) throws {
    var declared = Declaration()
    declared.users = users.enumerated().map { .init(.init(name: $1), at: DeclaredPlace(file: "gateway.yaml", line: $0 + 1, column: 1)) }
    try Convergence.carryOut(declared, publicKey: try key(1), link: nil, in: &self)
  }
}
