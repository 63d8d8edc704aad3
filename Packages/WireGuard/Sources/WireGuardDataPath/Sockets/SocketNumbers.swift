/// The descriptor numbers of an interface's two sockets. They stay the same while the interface lives: another port is put in their
/// places (dup2(2)), so the threads that use them need not be told.
struct SocketNumbers {
  let v4: Int32
  let v6: Int32
}
