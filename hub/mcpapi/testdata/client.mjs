// A client that believes a server as little as the protocol's own does: it lists every
// skill, reads and verifies every file, walks the folders, and wants the two to agree.
//
//   node client.mjs URL STAGED
//
// STAGED is the URI of a skill that must not be served. The last line is what was seen,
// as JSON.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';

const [url, staged] = process.argv.slice(2);
const wrong = [];

async function refused(what, ask) {
  try {
    await ask();
    wrong.push(`${what} of ${staged} is answered`);
  } catch (e) {
    if (e.code !== -32602) wrong.push(`${what} of ${staged}: ${e.code} ${e.message}`);
  }
}

async function walk(skills, uri, files) {
  const { resources } = await skills.readDirectory(uri);
  for (const child of resources) {
    if (child.mimeType === 'inode/directory') await walk(skills, child.uri, files);
    else files.push(child.uri);
  }
}

const client = new Client({ name: 'kx-test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const skills = new SkillsClient(client);
if (!skills.supported || !skills.directoryRead) wrong.push('the extension is not declared');

const seen = { skills: 0, files: 0 };
const listing = await skills.list();
for (const skill of listing.skills) {
  seen.skills++;
  const listed = skill.resources.map((r) => r.uri).sort();
  for (const uri of listed) {
    await skills.read(skill, uri);
    seen.files++;
  }
  const walked = [];
  await walk(skills, skill.uri.replace(/\/SKILL\.md$/, ''), walked);
  if (JSON.stringify(walked.sort()) !== JSON.stringify(listed)) wrong.push(`${skill.uri}: folders have ${walked}, the entry ${listed}`);
}

await refused('skills/get', () => skills.get(staged));
await refused('resources/read', () => client.readResource({ uri: staged }));
await refused('resources/directory/read', () => skills.readDirectory(staged.replace(/\/SKILL\.md$/, '')));
const name = staged.split('/').at(-2);
await refused('prompts/get', () => client.getPrompt({ name }));
const tool = await client.callTool({ name: 'read_skill', arguments: { uri: staged } });
if (!tool.isError) wrong.push('read_skill reads what is staged');
const everything = JSON.stringify([
  listing, await client.listResources(), await client.listPrompts(), await client.listTools(), client.getInstructions(),
  await client.callTool({ name: 'search_skills', arguments: { query: name } }),
  await client.callTool({ name: 'memclaw_doc', arguments: { op: 'search', collection: 'skills', query: name } }),
]);
if (everything.includes(staged)) wrong.push('a list names what is staged');
await client.close();
console.log(JSON.stringify({ ...seen, wrong }));
process.exit(wrong.length === 0 ? 0 : 1);
