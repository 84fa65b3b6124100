import { expect, it } from 'vitest'
import { parseMap } from './cluster.ts'

const info = 'cluster_state:ok\r\ncluster_current_epoch:7\r\n'
const slots = [
  [0, 8191, ['10.0.0.1', 6379, 'a'], ['10.0.0.3', 6379, 'c']],
  [8192, 16_383, ['', 6380, 'b', []]],
]

it('a map says whose each slot is; a node that does not know its address is where it was asked', () => {
  expect(parseMap({ slots, info }, 'redis-1:6379')).toEqual({
    isOk: true,
    epoch: 7,
    primaries: [
      { from: 0, to: 8191, address: '10.0.0.1:6379' },
      { from: 8192, to: 16_383, address: 'redis-1:6380' },
    ],
    replicas: ['10.0.0.3:6379'],
  })
  expect(parseMap({ slots: [[0, 1, ['fe80::1', 6379]]], info }, 'a:1')?.primaries[0]?.address).toBe('[fe80::1]:6379')
  expect(parseMap({ slots, info: info.replace('ok', 'fail') }, 'a:1')?.isOk).toBe(false)
})

it.each([
  [{ slots: null, info }],
  [{ slots: [], info }],
  [{ slots: [[0]], info }],
  [{ slots: [['a', 1, ['h', 1]]], info }],
  [{ slots: [[0, 1, ['?', 6379]]], info }],
  [{ slots: [[0, 1, ['h', 'x']]], info }],
  [{ slots: [[0, 1, [7, 7]]], info }],
  [{ slots, info: '' }],
])('what no cluster has said is no map (%#)', (said) => {
  expect(parseMap(said, 'a:1')).toBeUndefined()
})
